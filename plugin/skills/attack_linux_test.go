//go:build linux && (amd64 || arm64)

package skills

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/sandbox"
	"github.com/awaken-go/awaken/internal/testenv"
)

// arenas counts the arenas, so that each has a mark of its own.
var arenas atomic.Int64

// attacks counts the attacks of all tests of this package, and escapes those that succeeded.
var attacks, escapes atomic.Int64

func TestMain(m *testing.M) {
	code := m.Run()
	fmt.Printf("%d attacks, %d escapes\n", attacks.Load(), escapes.Load())
	os.Exit(code)
}

func attacked(t *testing.T, name string, escaped bool, format string, args ...any) {
	t.Helper()
	if attacks.Add(1); escaped {
		escapes.Add(1)
		t.Errorf("%s: escaped: %s", name, fmt.Sprintf(format, args...))
	}
}

// No path but that of one of the skill's own files is accepted.
func TestAttack_Paths(t *testing.T) {
	s := sealed(t, map[string]File{"references/a.md": {Data: []byte("a")}})
	paths := []string{"", "/", "/etc/passwd", "//etc/passwd", "..", "../", "../SKILL.md", "../../etc/passwd", "references/../../x", "references/..", "references/../references/a.md", "./../x", "././../x",
		"references//a.md", "references/./a.md", "references/a.md/", "references/a.md/..", `..\x`, `references\a.md`, `C:\x`, "C:/x", "c:x", "~/x", "~root/x", "references/a.md\x00.txt", "\x00", "references/\x01",
		"references/a\nb", "references/\u202ea.md", "\u200breferences/a.md", "references/a.md\u0000", "%2e%2e/x", "..%2fx", "..;/x", "file:///etc/passwd", "http://x/y", "references/%00", ".git/config", ".env", "references/.hidden",
		"...", ". .", "references/. ", "references/.. /x", "references/..\u2215x", "\xff", "references/\xc0\xae\xc0\xae/x", "/proc/self/environ", "dev/../../x", strings.Repeat("../", 50) + "etc/passwd",
		strings.Repeat("a/", 300) + "x", strings.Repeat("a", 600), "references/a.md:stream", "\\\\server\\share", "SKILL.md/../../x", "references/\u2025/x", "REFERENCES/A.MD", "references/a.md ", " references/a.md"}
	for _, p := range paths {
		clean, err := cleanPath(p)
		_, found := s.Files[clean]
		attacked(t, fmt.Sprintf("path %q", p), err == nil && found, "it is %q", clean)
	}
	if clean, err := cleanPath("./references/a.md"); err != nil || clean != "references/a.md" {
		t.Errorf("an honest path is %q (%v)", clean, err)
	}
}

func sealed(t testing.TB, files map[string]File) *Skill {
	t.Helper()
	s, err := (&Skill{Name: "a", Description: "d", Files: files}).Seal()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plant is a folder of skills beside a secret.
type plant struct {
	t      *testing.T
	dir    string // of skills
	secret string // the file
	token  string // what it holds
}

func newPlant(t *testing.T) *plant {
	p := &plant{t: t, token: rand.Text()}
	outside := t.TempDir()
	p.dir, p.secret = filepath.Join(outside, "skills"), filepath.Join(outside, "secret.txt")
	for _, dir := range []string{"a/references", "a/scripts"} {
		p.must(os.MkdirAll(filepath.Join(p.dir, dir), 0o755))
	}
	p.must(os.WriteFile(p.secret, []byte(p.token), 0o600))
	p.must(os.WriteFile(filepath.Join(p.dir, "a/SKILL.md"), []byte("---\nname: a\ndescription: d\n---\nx"), 0o644))
	return p
}

func (p *plant) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *plant) at(name string) string { return filepath.Join(p.dir, name) }

// leaks reports whether loaded skills hold the secret.
func (p *plant) leaks() (bool, []string) {
	list, warnings, err := Folder(p.dir).Load()
	if err != nil {
		return false, []string{err.Error()}
	}
	for _, s := range list {
		if strings.Contains(s.Body+s.Description, p.token) {
			return true, warnings
		}
		for _, f := range s.Files {
			if strings.Contains(string(f.Data), p.token) {
				return true, warnings
			}
		}
	}
	return false, warnings
}

// Links, devices and oversized files in a folder of skills show the model nothing from outside of
// it, and do not hang.
func TestAttack_Folders(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(p *plant)
		want string // in a warning
	}{
		{"a link to a file", func(p *plant) { p.must(os.Symlink(p.secret, p.at("a/references/x.md"))) }, "left out"},
		{"a relative link", func(p *plant) { p.must(os.Symlink("../../../secret.txt", p.at("a/references/x.md"))) }, "left out"},
		{"a link to a folder", func(p *plant) { p.must(os.Symlink(filepath.Dir(p.secret), p.at("a/references/out"))) }, "left out"},
		{"a chain of links", func(p *plant) {
			p.must(os.Symlink("y", p.at("a/references/x")))
			p.must(os.Symlink(p.secret, p.at("a/references/y")))
		}, "left out"},
		{"a link as SKILL.md", func(p *plant) {
			p.must(os.WriteFile(p.secret, []byte("---\nname: a\ndescription: "+p.token+"\n---\n"), 0o600))
			p.must(os.Remove(p.at("a/SKILL.md")))
			p.must(os.Symlink(p.secret, p.at("a/SKILL.md")))
		}, "no regular file"},
		{"a link as skill", func(p *plant) {
			outside := filepath.Join(filepath.Dir(p.dir), "b")
			p.must(os.Mkdir(outside, 0o755))
			p.must(os.WriteFile(filepath.Join(outside, "SKILL.md"), []byte("---\nname: b\ndescription: "+p.token+"\n---\n"), 0o644))
			p.must(os.Symlink(outside, p.at("b")))
		}, "it is a link"},
		{"a dangling link", func(p *plant) { p.must(os.Symlink("/nowhere", p.at("a/references/x"))) }, "left out"},
		{"a link to itself", func(p *plant) { p.must(os.Symlink("x", p.at("a/references/x"))) }, "left out"},
		{"a loop of folders", func(p *plant) { p.must(os.Symlink("..", p.at("a/references/up"))) }, "left out"},
		{"a link to /proc", func(p *plant) { p.must(os.Symlink("/proc/self/environ", p.at("a/references/env"))) }, "left out"},
		{"a pipe", func(p *plant) { p.must(syscall.Mkfifo(p.at("a/references/pipe"), 0o644)) }, "left out"},
		{"a pipe as SKILL.md", func(p *plant) {
			p.must(os.Remove(p.at("a/SKILL.md")))
			p.must(syscall.Mkfifo(p.at("a/SKILL.md"), 0o644))
		}, "no regular file"},
		{"a socket", func(p *plant) {
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			p.must(err)
			p.t.Cleanup(func() { _ = syscall.Close(fd) })
			p.must(os.Chdir(p.at("a/references"))) // the names of sockets are short
			defer func() { p.must(os.Chdir(home)) }()
			p.must(syscall.Bind(fd, &syscall.SockaddrUnix{Name: "sock"}))
		}, "left out"},
		{"a file that is too large", func(p *plant) { p.must(os.Truncate(p.create("a/references/big"), maxFileBytes+1)) }, "has more than"},
		{"an endless SKILL.md", func(p *plant) { p.must(os.Truncate(p.create("a/SKILL.md"), 1<<40)) }, "has more than"},
		{"too many files", func(p *plant) {
			for i := range maxFiles + 1 {
				p.create(fmt.Sprintf("a/references/%d", i))
			}
		}, "files"},
		{"files that are too large together", func(p *plant) {
			for i := range 5 {
				p.must(os.Truncate(p.create(fmt.Sprintf("a/references/%d", i)), maxFileBytes))
			}
		}, "bytes"},
		{"folders that are too deep", func(p *plant) { p.must(os.MkdirAll(p.at("a/"+strings.Repeat("d/", 30)), 0o755)) }, "deep"},
		{"too many skills", func(p *plant) {
			for i := range maxSkills + 1 {
				p.must(os.Mkdir(p.at(fmt.Sprintf("s%d", i)), 0o755))
				p.must(os.WriteFile(p.at(fmt.Sprintf("s%d/SKILL.md", i)), []byte("---\ndescription: d\n---\n"), 0o644))
			}
		}, "more than"},
		{"a name with a control character", func(p *plant) { p.create("a/references/x\ny") }, "control characters"},
		{"a name with a backslash", func(p *plant) { p.create(`a/references/x\..\y`) }, `\ or :`},
		{"two skills of one name", func(p *plant) {
			p.must(os.Mkdir(p.at("b"), 0o755))
			p.must(os.WriteFile(p.at("b/SKILL.md"), []byte("---\nname: a\ndescription: d\n---\n"), 0o644))
		}, "same name"},
		{"an archive is not unpacked", func(p *plant) {
			p.must(os.WriteFile(p.at("a/references/x.tar"), []byte("../../evil\x00"+strings.Repeat("\x00", 500)), 0o644))
		}, ""},
		{"a hidden file", func(p *plant) { p.must(os.Symlink(p.secret, p.at("a/.env"))) }, ""},
	} {
		p := newPlant(t)
		tt.do(p)
		leaked, warnings := p.leaks()
		attacked(t, tt.name, leaked, "the skills hold the secret")
		if !strings.Contains(strings.Join(warnings, "\n"), tt.want) {
			t.Errorf("%s: the warnings are %.300q, want %q", tt.name, warnings, tt.want)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(p.dir), "evil")); err == nil {
			t.Errorf("%s: a file was written", tt.name)
		}
	}
}

var home, _ = os.Getwd()

func (p *plant) create(name string) string {
	p.t.Helper()
	p.must(os.WriteFile(p.at(name), nil, 0o644))
	return p.at(name)
}

// A file, or a folder, that is swapped for a link while it is read shows nothing from outside.
func TestAttack_Swaps(t *testing.T) {
	for _, tt := range []struct{ name, victim string }{{"a file", "a/references/x.md"}, {"a folder", "a/references"}, {"SKILL.md", "a/SKILL.md"}, {"a skill", "a"}} {
		p := newPlant(t)
		outside := filepath.Join(filepath.Dir(p.dir), "outside")
		p.must(os.MkdirAll(filepath.Join(outside, "references"), 0o755))
		for _, name := range []string{"SKILL.md", "x.md", "references/x.md"} {
			p.must(os.WriteFile(filepath.Join(outside, name), []byte("---\nname: a\ndescription: "+p.token+"\n---\n"), 0o644))
		}
		p.create("a/references/x.md")
		honest, evil := p.at(tt.victim)+".honest", p.at(tt.victim)+".evil"
		target := outside
		if strings.HasSuffix(tt.victim, ".md") {
			target = filepath.Join(outside, "SKILL.md")
		}
		p.must(os.Symlink(target, evil))
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
				}
				_ = os.Rename(p.at(tt.victim), honest)
				_ = os.Rename(evil, p.at(tt.victim))
				_ = os.Rename(p.at(tt.victim), evil)
				_ = os.Rename(honest, p.at(tt.victim))
			}
		}()
		leaked := false
		for range 200 {
			leak, _ := p.leaks()
			leaked = leaked || leak
		}
		attacked(t, "swap of "+tt.name, leaked, "the skills hold the secret")
		close(stop)
		<-done
	}
}

// arena is what attacks of scripts aim at.
type arena struct {
	*plant
	runner   *Runner
	victim   *exec.Cmd
	listener net.Listener
	socket   string
	reached  atomic.Int64 // connections
	temp     string       // of working folders
	leaked   int          // a file that the server has inherited, which is the secret
	mark     string       // in the command lines of processes that must not survive
}

func newArena(t *testing.T) *arena {
	a := &arena{plant: newPlant(t), mark: fmt.Sprint(10_000_000*arenas.Add(1) + int64(os.Getpid()))}
	if sandbox.Available() != nil {
		t.Skip("this system cannot confine scripts")
	}
	a.must(os.Setenv("ATTACK_"+a.token[:8], a.token))
	a.victim = exec.Command("sleep", "600")
	a.must(a.victim.Start())
	t.Cleanup(func() { _ = a.victim.Process.Kill(); _ = a.victim.Wait() })
	for _, network := range []string{"tcp", "unix"} {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(filepath.Dir(a.dir), "sock")
			a.socket = address
		}
		l, err := net.Listen(network, address)
		a.must(err)
		t.Cleanup(func() { _ = l.Close() })
		if network == "tcp" {
			a.listener = l
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				a.reached.Add(1)
				_ = c.Close()
			}
		}()
	}
	udp, err := net.ListenPacket("udp", a.listener.Addr().String())
	a.must(err)
	t.Cleanup(func() { _ = udp.Close() })
	go func() {
		if _, _, err := udp.ReadFrom(make([]byte, 10)); err == nil {
			a.reached.Add(1)
		}
	}()
	a.must(os.Chmod(filepath.Dir(a.dir), 0o777)) // only the confinement protects it
	a.must(os.Chmod(a.secret, 0o666))
	a.temp = t.TempDir()
	for _, dir := range []string{a.temp, filepath.Dir(a.temp)} {
		a.must(os.Chmod(dir, 0o755)) // the script's user passes through
	}
	a.leaked, err = syscall.Open(a.secret, syscall.O_RDONLY, 0)
	a.must(err)
	t.Cleanup(func() { _ = syscall.Close(a.leaked) })
	a.runner = NewRunner(RunnerOptions{TempDir: a.temp, Limits: Limits{Time: 20 * time.Second, Memory: 256 << 20, FileBytes: 8 << 20, Flood: 1 << 20}})
	return a
}

// run runs the text as a script and returns what it prints.
func (a *arena) run(name, text string, args ...string) (*output, error) {
	text = strings.NewReplacer("SECRET", a.secret, "OUTSIDE", filepath.Dir(a.dir), "VICTIM", fmt.Sprint(a.victim.Process.Pid), "SERVER", fmt.Sprint(os.Getpid()),
		"PORT", strings.TrimPrefix(a.listener.Addr().String(), "127.0.0.1:"), "SOCKET", a.socket, "LEAKED", fmt.Sprint(a.leaked), "MARK", a.mark, "CLONE", fmt.Sprint(syscall.SYS_CLONE)).Replace(text)
	s := sealed(a.t, map[string]File{"scripts/x" + name: {Data: []byte(text), Exec: name == ".run"}})
	return a.runner.run(context.Background(), s, "scripts/x"+name, args, "key")
}

// damage returns what an attack has achieved, or "".
func (a *arena) damage(out *output) string {
	if out != nil && strings.Contains(out.Stdout+out.Stderr, a.token) {
		return "the output holds the secret"
	}
	if data, err := os.ReadFile(a.secret); err != nil || string(data) != a.token {
		return fmt.Sprintf("the secret is %q (%v)", data, err)
	}
	if info, err := os.Stat(a.secret); err != nil || info.Mode().Perm() != 0o666 {
		return fmt.Sprintf("the mode of the secret is %v (%v)", info.Mode(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(a.dir))
	if err != nil || len(entries) != 3 { // the skills, the secret, the socket
		return fmt.Sprintf("outside there are %v (%v)", entries, err)
	}
	if a.reached.Load() > 0 {
		return "the network was reached"
	}
	if err := a.victim.Process.Signal(syscall.Signal(0)); err != nil {
		return "another process was ended"
	}
	for tries := 0; zombies(os.Getpid()) > 0; tries++ { // those of other tests are reaped in a moment
		if tries == 1000 {
			return "the server has children that it does not know"
		}
		time.Sleep(10 * time.Millisecond)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range lines {
		if data, _ := os.ReadFile(f); strings.Contains(string(data), "sleep\x00"+a.mark) {
			return "a process survived: " + strings.ReplaceAll(string(data), "\x00", " ")
		}
	}
	if left, err := os.ReadDir(a.temp); err != nil || len(left) > 0 {
		return fmt.Sprintf("working folders were left: %v (%v)", left, err)
	}
	return ""
}

// zombies counts the children of a process that have ended and are not reaped.
func zombies(pid int) (n int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range stats {
		data, _ := os.ReadFile(f)
		_, rest, _ := strings.Cut(string(data), ") ")
		if strings.HasPrefix(rest, fmt.Sprintf("Z %d ", pid)) {
			n++
		}
	}
	return n
}

// scriptAttacks are scripts, by the extension that selects their interpreter.
var scriptAttacks = map[string][]string{
	".sh": {
		"cat SECRET", "cat ../secret.txt ../../secret.txt", "cat < SECRET", "ln -s SECRET x && cat x", "ln SECRET x && cat x", "cp SECRET x; cat x", "dd if=SECRET", "exec 3<SECRET; cat <&3",
		"cat /etc/passwd | grep root && echo $(< SECRET)", "cat /proc/SERVER/environ", "cat /proc/$PPID/environ", "cat /proc/1/environ", "cat /proc/self/environ; env", "env; set; export -p", "cat /proc/*/environ",
		"cd OUTSIDE && cat secret.txt", "cd OUTSIDE && echo *; grep -r . OUTSIDE", "find / -name secret.txt -exec cat {} +", "ls -la OUTSIDE/ && cat OUTSIDE/sec*", "tar -cf - OUTSIDE", "mv SECRET x; cat x", "source SECRET",
		"echo x > SECRET", "echo x >> SECRET", ": > SECRET", "truncate -s 0 SECRET", "rm -f SECRET", "rm -rf OUTSIDE", "touch OUTSIDE/new", "mkdir OUTSIDE/new", "ln -s x OUTSIDE/new", "ln x OUTSIDE/new", "mkfifo OUTSIDE/new",
		"echo x > x; mv x OUTSIDE/new", "chmod 000 SECRET", "chown 0:0 SECRET", "echo x > ../new; echo x > /tmp/../OUTSIDE/new", "cp /bin/ls OUTSIDE/new", "install -m 755 /bin/ls OUTSIDE/new", "mknod OUTSIDE/new c 1 3", "sed -i s/./x/ SECRET",
		"mount --bind OUTSIDE . && cat secret.txt", "mount -t tmpfs x .", "unshare -r cat SECRET", "unshare -rm sh -c 'cat SECRET'", "chroot / cat SECRET", "nsenter -t 1 -m cat SECRET", "nsenter -t SERVER -m cat SECRET", "sudo -n cat SECRET", "su -c 'cat SECRET'",
		"exec 3<>/dev/tcp/127.0.0.1/PORT; echo x >&3", "echo x > /dev/udp/127.0.0.1/PORT", "curl -m 2 -s http://127.0.0.1:PORT/ || wget -t 1 -T 2 -qO- http://127.0.0.1:PORT/", "nc -z 127.0.0.1 PORT", "nc -U SOCKET </dev/null",
		"kill -9 VICTIM", "kill -9 SERVER; kill -9 $PPID", "kill -9 -1", "kill -STOP VICTIM; kill -9 VICTIM", "pkill -9 sleep", "for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done", "kill -9 -VICTIM",
		"setsid sleep MARK & sleep 0.2", "nohup sleep MARK >/dev/null 2>&1 &", "(sleep MARK &) ", "sleep MARK & disown; exit 0", "trap '' TERM HUP INT; sleep MARK & exit 3", "bash -c 'bash -c \"sleep MARK\" &' &", "set -m; sleep MARK & sleep 0.2",
		"for i in $(seq 200); do sleep MARK & done; wait -n; true", "f() { f | f & }; f; sleep 1", "while :; do sleep MARK & done 2>/dev/null & sleep 1",
		"yes", "yes >&2", "cat /dev/zero", "cat /dev/urandom >&2", "while :; do echo x; done", "exec 1>&-; exec 2>&-; sleep MARK & exit",
		"cat /dev/zero > big; ls -l big | awk '$5 > 9000000 {print \"TOO BIG\"}'", "x=a; while :; do x=$x$x; done", "ulimit -f unlimited && cat /dev/zero > big", "ulimit -u unlimited; ulimit -v unlimited; cat SECRET",
		"mkdir -p d && chmod 000 d", "mkdir -p a/b/c && touch a/b/c/d && chmod -R 000 a", "cat /dev/mem /dev/kmsg /dev/sd* /dev/vd*", "cat /root/.ssh/* /home/*/.ssh/*; cat SECRET", "cat /dev/tty; stty -a", "renice -n -20 VICTIM; taskset -p 1 VICTIM; prlimit --pid VICTIM --nofile=1; cat SECRET",
		"cat <&LEAKED", "cat /dev/fd/LEAKED /proc/self/fd/LEAKED", "for i in $(seq 3 40); do cat <&$i; done",
		"ipcs; ipcmk -M 1000; cat /dev/shm/*; cat SECRET", "exec 9< .; cat /proc/self/fd/9/../secret.txt /dev/fd/9/../../secret.txt", "PATH=OUTSIDE:$PATH; LD_PRELOAD=SECRET ls", "env -i cat SECRET", "xargs -a SECRET echo", "mapfile < SECRET; echo ${MAPFILE[0]}",
	},
	".py": {
		"print(open('SECRET').read())", "import os; print(os.environ)", "import os; os.chdir('OUTSIDE'); print(open('secret.txt').read())", "import os; print(os.open('SECRET', os.O_PATH)); print(open('/proc/self/fd/3').read())",
		"import socket; s=socket.socket(); s.connect(('127.0.0.1', PORT))", "import socket; s=socket.socket(socket.AF_UNIX); s.connect('SOCKET')", "import socket; s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', PORT))",
		"import urllib.request; urllib.request.urlopen('http://127.0.0.1:PORT/')", "import os,signal; os.kill(VICTIM, signal.SIGKILL)", "import os,signal; os.killpg(os.getpgid(VICTIM), signal.SIGKILL)",
		"import ctypes; l=ctypes.CDLL(None); print(l.ptrace(16, VICTIM, 0, 0)); l.kill(VICTIM, 9)", "import ctypes; l=ctypes.CDLL(None); [l.syscall(n, VICTIM, 9, 0, 0) for n in (62, 200, 234, 424)]",
		"import ctypes; l=ctypes.CDLL(None); print(l.syscall(425, 8, 0)); print(open('SECRET').read())", "import ctypes; l=ctypes.CDLL(None); print(l.syscall(0x40000000 + 41, 2, 1, 0)); print(open('SECRET').read())",
		"import os; os.setsid(); os.execvp('sleep', ['sleep', 'MARK'])", "import os\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: os.execvp('sleep', ['sleep', 'MARK'])", "import os\nwhile True:\n  os.fork()",
		"x = bytearray(4 << 30); print(open('SECRET').read())", "x = []\nwhile True: x.append(bytearray(1 << 20))", "import os; os.setuid(0); os.setgid(0); print(open('SECRET').read())", "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1<<40, 1<<40)); print(open('SECRET').read())",
		"import resource; resource.prlimit(VICTIM, resource.RLIMIT_NOFILE, (1,1)); print(open('SECRET').read())", "import os; os.chmod('SECRET', 0)", "import os; os.utime('SECRET', (0,0)); print(open('SECRET').read())", "import os; os.truncate('SECRET', 0)", "import os; os.rename('SECRET', 'OUTSIDE/new')", "import os; os.link('SECRET', 'x'); print(open('x').read())",
		"import os; os.symlink('SECRET', 'x'); print(open('x').read())", "import os; os.setxattr('SECRET', 'user.x', b'y'); print(open('SECRET').read())", "import os; fd=os.memfd_create('x'); os.write(fd, open('/bin/cat','rb').read()); os.execve(fd, ['cat','SECRET'], {})",
		"import subprocess; print(subprocess.run(['cat','SECRET'], capture_output=True))", "import subprocess; subprocess.Popen(['sleep','MARK'], start_new_session=True)", "import tarfile,io; b=io.BytesIO(); t=tarfile.open(fileobj=b, mode='w'); i=tarfile.TarInfo('../../../OUTSIDE/new'); t.addfile(i); t.close(); b.seek(0); tarfile.open(fileobj=b).extractall('.', filter='fully_trusted')",
		"import zipfile; z=zipfile.ZipFile('x.zip','w'); z.writestr('../new','x'); z.close(); open('OUTSIDE/new','w')", "files=[]\nwhile True: files.append(open('/dev/null'))", "import os; print(os.listdir('/proc')); print(open('/proc/SERVER/mem','rb').read(10)); print(open('SECRET').read())",
		"import os; print(os.read(LEAKED, 100)); print(os.pread(LEAKED, 100, 0))", "import mmap; m=mmap.mmap(-1, 300<<20); m[::4096]=b'x'*(len(m)//4096); print('TOO BIG')",
		"import os,mmap\nn=0\nfor i in range(40):\n  fd=os.memfd_create('x'); os.ftruncate(fd, 8<<20); n+=8\nprint('TOO BIG')",
		"import fcntl,os; r,w=os.pipe(); fcntl.fcntl(r, 8, VICTIM); fcntl.fcntl(r, 10, 9); fcntl.fcntl(r, 4, 0o20000|os.O_NONBLOCK); os.write(w, b'x')",
		"import fcntl,socket,struct,os; a,b=socket.socketpair(); fcntl.ioctl(a, 0x8901, struct.pack('i', VICTIM)); fcntl.fcntl(a, 10, 9); fcntl.fcntl(a, 4, 0o20000|os.O_NONBLOCK); b.send(b'x'); print('TOO BIG')",
		"import os\nfor i in range(300):\n  os.mkdir('d'); os.chdir('d')\nos.chmod('.', 0)", "import ctypes,os; l=ctypes.CDLL(None)\nfor i in range(5):\n  if l.syscall(CLONE, 0x8000|17, 0, 0, 0, 0) == 0: os._exit(0)",
		"import signal,time\nfor s in range(1,32):\n  try: signal.signal(s, signal.SIG_IGN)\n  except OSError: pass\nimport os; os.execvp('sleep', ['sleep','MARK'])",
	},
	".run": {"#!/bin/cat SECRET\n", "#!/usr/bin/env -S cat SECRET\n", "#!/bin/sh\ncat SECRET", "\x7fELF garbage"},
}

// attacksVar says which attacks TestAttack_Scripts makes: the "even" or the "odd" ones. Empty means all.
const attacksVar = "AWAKEN_TEST_ATTACKS"

// A script reaches nothing outside of its folder: no files, no network, no processes; and it ends
// with all its processes, whatever it starts or prints.
func TestAttack_Scripts(t *testing.T) {
	t.Parallel()
	made := os.Getenv(attacksVar)
	if made == "" && !testenv.Long() && os.Getuid() == 0 {
		made = "even" // TestAttack_ScriptsOfTheSameUser makes the others
	}
	a := newArena(t)
	if out, err := a.run(".sh", "echo $AWAKEN_SKILL $AWAKEN_IDEMPOTENCY_KEY \"$@\"; echo e >&2; echo x > here && cat here; exit 3", "it's", "$(cat SECRET)", ";cat SECRET"); err != nil || out.ExitCode != 3 || out.OK ||
		out.Stdout != "a key it's $(cat SECRET) ;cat SECRET\nx\n" || out.Stderr != "e\n" {
		t.Fatalf("an honest script: %+v, %v", out, err)
	}
	for ext, list := range scriptAttacks {
		if _, ok := a.runner.interpreters[ext]; !ok && ext != ".run" {
			t.Logf("no interpreter for %s", ext)
			continue
		}
		var short, endless []string
		for i, text := range list {
			if made != "" && (made == "odd") != (i%2 == 1) {
				continue
			}
			if slow(text) {
				endless = append(endless, text)
			} else {
				short = append(short, text)
			}
		}
		for _, round := range []struct {
			scripts []string
			time    time.Duration
		}{{short, 20 * time.Second}, {endless, 600 * time.Millisecond}} {
			a.runner.limits.Time = round.time
			for some := range slices.Chunk(round.scripts, cap(a.runner.slots)) {
				if !a.attack(ext, some...) {
					return // what follows would blame the wrong attack
				}
			}
		}
	}
}

// attack runs scripts at the same time and reports whether they did no damage.
func (a *arena) attack(ext string, scripts ...string) bool {
	outs := make([]*output, len(scripts))
	errs := make([]error, len(scripts))
	var wg sync.WaitGroup
	for i, text := range scripts {
		wg.Go(func() { outs[i], errs[i] = a.run(ext, text) })
	}
	wg.Wait()
	for i, text := range scripts {
		damage := ""
		if out := outs[i]; i == 0 || out != nil && strings.Contains(out.Stdout+out.Stderr, a.token) { // all have ended: what they left is looked for once
			damage = a.damage(out)
		}
		attacked(a.t, ext+": "+text, damage != "", "%s", damage)
		if damage != "" {
			a.t.Logf("scripts that ran at the same time: %q; output: %+v, %v", scripts, outs[i], errs[i])
			return false
		}
		if out := outs[i]; out != nil && (strings.Contains(out.Stdout, "TOO BIG") || len(out.Stdout)+len(out.Stderr) > 2*3*a.runner.limits.Output) {
			a.t.Errorf("%s: a file or the output exceeds its limit: %d bytes", text, len(out.Stdout))
		}
	}
	return true
}

// slow reports whether a script would not end by itself.
func slow(text string) bool {
	return strings.Contains(text, "MARK") || strings.Contains(text, "while") || strings.Contains(text, "fork") || strings.Contains(text, "yes") || strings.Contains(text, "/dev/zero") || strings.Contains(text, "f | f") || strings.Contains(text, "urandom")
}

// A script that runs too long, and one that prints too much, are ended and say so; a call that is
// cancelled ends at once.
func TestRunner_EndsScripts(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	a.runner.limits.Time = 300 * time.Millisecond
	if out, err := a.run(".sh", "echo begun; sleep MARK"); err != nil || out.Ended != "script_timeout" || out.OK || a.damage(out) != "" {
		t.Errorf("a slow script: %+v, %v, %s", out, err, a.damage(out))
	}
	a.runner.limits.Time = time.Minute
	if out, err := a.run(".sh", "yes; sleep MARK"); err != nil || out.Ended != "output_limit" || !out.StdoutTruncated || len(out.Stdout) != 32<<10 {
		t.Errorf("a script that floods: %+v, %v", out.Ended, err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(io.ErrUnexpectedEOF)
	if out, err := a.runner.run(ctx, sealed(t, map[string]File{"scripts/x.sh": {Data: []byte("sleep 100")}}), "scripts/x.sh", nil, ""); err == nil {
		t.Errorf("a cancelled script: %+v", out)
	}
	for name, want := range map[string]string{"scripts/x.rb": "unsupported_runtime", "scripts/x": "unsupported_runtime"} {
		_, err := a.runner.run(context.Background(), sealed(t, map[string]File{name: {Data: []byte("x")}}), name, nil, "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// The attacks fail too if the server is not root, so that scripts belong to the same user.
func TestAttack_ScriptsOfTheSameUser(t *testing.T) {
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("the process is not root: TestAttack_Scripts has shown it")
	}
	if sandbox.Available() != nil {
		t.Skip("this system cannot confine scripts")
	}
	t.Parallel()
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "awaken-attack-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "attack.test")
	syscall.ForkLock.RLock() // a process that is started meanwhile would have the file open, and it could not be executed
	err = os.WriteFile(program, exe, 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestAttack_Scripts$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "PATH=" + sandbox.Path, "HOME=" + dir}
	if !testenv.Long() {
		cmd.Env = append(cmd.Env, attacksVar+"=odd")
	}
	const user = 64123
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	n, bad := 0, -1
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "%d attacks, %d escapes", &n, &bad)
	}
	if attacks.Add(int64(n)); err != nil || n == 0 || bad != 0 {
		t.Errorf("%d attacks, %d escapes: %v\n%s", n, bad, err, out)
	}
}

// A disk that fills while a script writes, or while its folder is made, fails the call, and nothing is left on it.
func TestRunner_FullDisk(t *testing.T) {
	a := newArena(t)
	if err := syscall.Mount("tmpfs", a.temp, "tmpfs", 0, "size=1m,mode=0755"); err != nil {
		t.Skip("cannot mount a small disk: ", err)
	}
	t.Cleanup(func() { a.must(syscall.Unmount(a.temp, 0)) })
	out, err := a.run(".sh", "head -c 5000000 /dev/zero > big; echo exit $?")
	if err != nil || !strings.Contains(out.Stderr, "No space left") || !strings.Contains(out.Stdout, "exit 1") {
		t.Errorf("%+v, %v", out, err)
	}
	s := sealed(t, map[string]File{"scripts/x.sh": {Data: []byte("echo x")}, "assets/a": {Data: make([]byte, 1<<20-1)}, "assets/b": {Data: make([]byte, 1<<19)}})
	if out, err := a.runner.run(context.Background(), s, "scripts/x.sh", nil, "key"); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("a folder that does not fit: %+v, %v", out, err)
	}
	if left, err := os.ReadDir(a.temp); err != nil || len(left) > 0 {
		t.Errorf("folders are left: %v, %v", left, err)
	}
}
