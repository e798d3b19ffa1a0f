//go:build linux && (amd64 || arm64)

package sandboxtest

import (
	"fmt"
	"runtime"
	"strings"
)

// Attack is a command line that attacks an [Arena].
type Attack struct {
	Text string
	// Shown says that the attack does damage without a sandbox, which is safe to show: to all users, or to root.
	Shown, ByRoot bool
	Endless       bool // it does not end by itself
}

// Attacks returns all attacks.
func Attacks() []Attack {
	var out []Attack
	for _, text := range shown {
		out = append(out, Attack{Text: text, Shown: true})
	}
	for _, text := range shownToRoot {
		out = append(out, Attack{Text: text, ByRoot: true})
	}
	for _, text := range unsafe {
		out = append(out, Attack{Text: text})
	}
	for _, text := range bombs {
		out = append(out, Attack{Text: text, Endless: true})
	}
	if runtime.GOARCH == "amd64" {
		for _, c := range calls {
			out = append(out, Attack{Text: syscallText(c), ByRoot: !strings.HasPrefix(c.name, "?")})
		}
	}
	return out
}

// shown are attacks that succeed without a sandbox, whatever the user.
var shown = []string{
	// Files are read.
	"cat SECRET", "cat ../secret.txt", "cat < SECRET", "ln -s SECRET x && cat x", "cp SECRET x; cat x", "dd if=SECRET status=none", "exec 3<SECRET; cat <&3", "cd .. && cat secret.txt", "cd OUTSIDE; cat ./secret.txt",
	"find OUTSIDE -name secret.txt -exec cat {} + 2>/dev/null", "tar -cf - SECRET 2>/dev/null", "mapfile < SECRET; echo ${MAPFILE[0]}", "read x < SECRET; echo $x", "grep -r . OUTSIDE 2>/dev/null", "sed -n p SECRET", "awk 1 SECRET",
	"sort SECRET", "base64 SECRET | base64 -d", "xargs -a SECRET echo", ". SECRET", "bash SECRET", "diff SECRET /dev/null", "ln -s OUTSIDE d && cat d/secret.txt", "mkdir -p a/b && cd a/b && cat ../../../secret.txt",
	"cat /proc/self/cwd/../secret.txt", "exec 9<.; cat /proc/self/fd/9/../secret.txt", "cat /dev/fd/LEAKED", "cat <&LEAKED", "echo $(<SECRET)", "comm SECRET /dev/null", "head -c 100 SECRET",
	"ln -s / root; cat root/SECRET", "ln -s ../desk/.. up; cat up/secret.txt", "PATH=OUTSIDE; read x < SECRET; echo $x", "env -i cat SECRET", "sh -c 'sh -c \"cat SECRET\"'", "echo 'cat SECRET' | sh", "cat <<< $(cat SECRET)",
	"for i in $(seq 300); do ln -sfn OUTSIDE d; cat d/secret.txt; ln -sfn . d; done 2>/dev/null", "(for i in $(seq 200); do ln -sfn .. d; ln -sfn . d; done) & for i in $(seq 200); do cat d/secret.txt; done 2>/dev/null; wait",
	`python3 -IS -c "print(open('SECRET').read())"`, `python3 -IS -c "import os; os.chdir('..'); print(open('secret.txt').read())"`, `python3 -IS -c "import os; fd=os.open('SECRET', os.O_PATH); print(open('/proc/self/fd/%d' % fd).read())"`,
	`python3 -IS -c "import os; fd=os.open('..', os.O_PATH); print(os.read(os.open('secret.txt', os.O_RDONLY, dir_fd=fd), 100))"`, `python3 -IS -c "import os; print(os.pread(LEAKED, 100, 0))"`, `python3 -IS -c "import os
for i in range(3, 1000):
  try: print(os.pread(i, 100, 0))
  except OSError: pass"`, `python3 -IS -c "import mmap; f=open('SECRET','r+b'); print(mmap.mmap(f.fileno(), 0)[:])"`,
	`python3 -IS -c "import os; r,w=os.pipe(); os.sendfile(w, os.open('SECRET', 0), 0, 100); print(os.read(r, 100))"`,
	// The environment, and what is in processes.
	"env", "set", "export -p", "printenv ATTACK_TOKEN", "cat /proc/self/environ", "echo $ATTACK_TOKEN", `python3 -IS -c "import os; print(os.environ)"`, "cat /proc/$PPID/environ /proc/VICTIM/environ 2>/dev/null", "cat /proc/*/environ 2>/dev/null", "bash -c env", "awk 'BEGIN { for (k in ENVIRON) print ENVIRON[k] }'",
	"cat /proc/VICTIM/maps > /dev/null && echo ESCAPED", "ls /proc/VICTIM/fd > /dev/null && echo ESCAPED", "readlink /proc/VICTIM/exe && echo ESCAPED", "ls /proc && echo ESCAPED",
	// Files are written.
	"echo x > SECRET", "echo x >> SECRET", ": > SECRET", "truncate -s 0 SECRET", "rm -f SECRET", "mv SECRET x", "echo x > x; mv x OUTSIDE/new", "touch OUTSIDE/new", "mkdir OUTSIDE/new", "ln -s x OUTSIDE/new", "touch x; ln x OUTSIDE/new", "mkfifo OUTSIDE/new",
	"cp /bin/true OUTSIDE/new", "install -m 755 /bin/true OUTSIDE/new", "sed -i s/./x/ SECRET", "echo x | tee SECRET", "dd if=/dev/zero of=SECRET count=1 status=none", "echo x > ../new", "ln -s .. up && echo x > up/new", "ln -s SECRET x; echo y > x", "ln -s OUTSIDE/new x; echo y > x",
	"mkdir OUTSIDE/home/.ssh && echo key >> OUTSIDE/home/.ssh/authorized_keys", "echo evil >> OUTSIDE/home/.bashrc", "mkdir -p OUTSIDE/home/.config/autostart", "HOME=OUTSIDE/home; echo x > ~/.profile", "rmdir OUTSIDE/home", "mv OUTSIDE/home here", "echo x > /tmp/awaken-MARK", "echo x > /dev/shm/awaken-MARK",
	"echo x > /var/tmp/awaken-MARK", "mkdir t; echo x > t/f; cp -r t OUTSIDE/new", "echo x > f; tar -cf a.tar f; tar -C OUTSIDE -xf a.tar", `python3 -IS -c "import os; os.truncate('SECRET', 0)"`, `python3 -IS -c "import os; os.rename('SECRET', 'OUTSIDE/new')"`, `python3 -IS -c "open('OUTSIDE/new', 'w')"`,
	`python3 -IS -c "import os; open('x','w'); os.link('x', 'OUTSIDE/new')"`, `python3 -IS -c "import tarfile,io; b=io.BytesIO(); t=tarfile.open(fileobj=b, mode='w'); t.addfile(tarfile.TarInfo('../new')); t.close(); b.seek(0); tarfile.open(fileobj=b).extractall('.')"`,
	`python3 -IS -c "import os; os.mkdir('OUTSIDE/new')"`, `python3 -IS -c "import os; fd=os.open('..', os.O_RDONLY); os.open('new', os.O_CREAT|os.O_WRONLY, dir_fd=fd)"`, `python3 -IS -c "import os; f=os.open('SECRET', os.O_RDWR); os.ftruncate(f, 0)"`,
	"truncate -s 1T big && echo ESCAPED; rm -f big",
	// Networks and sockets.
	"exec 3<>/dev/tcp/127.0.0.1/PORT; echo x >&3", "echo x > /dev/udp/127.0.0.1/PORT", `python3 -IS -c "import socket; socket.create_connection(('127.0.0.1', PORT))"`, `python3 -IS -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))"`,
	`python3 -IS -c "import socket; socket.socket(socket.AF_UNIX).connect('SOCKET')"`, `python3 -IS -c "import socket; socket.socket(socket.AF_UNIX).connect('\0ABSTRACT')"`, `python3 -IS -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:PORT/')"`,
	`python3 -IS -c "import socket; s=socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); print('ESCAPED')"`, `python3 -IS -c "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); print('ESCAPED')"`, `python3 -IS -c "import socket; s=socket.socket(socket.AF_UNIX); s.bind('\0own-MARK'); print('ESCAPED')"`,
	`python3 -IS -c "import socket; s=socket.socket(socket.AF_UNIX); s.bind('OUTSIDE/new')"`, `python3 -IS -c "import os,socket; os.chdir('..'); socket.socket(socket.AF_UNIX).connect('sock')"`,
	// Other processes.
	"kill -9 VICTIM", "kill -STOP VICTIM", "kill -TERM VICTIM; sleep 0.1", `python3 -IS -c "import os; os.kill(VICTIM, 9)"`, `python3 -IS -c "import os,signal; signal.pidfd_send_signal(os.pidfd_open(VICTIM), 9)"`, `python3 -IS -c "import ctypes; ctypes.CDLL(None).sigqueue(VICTIM, 9, 0)"`,
	"renice -n 5 -p VICTIM && echo ESCAPED", "taskset -p 1 VICTIM && echo ESCAPED", "prlimit --pid VICTIM --nofile=10:10 && echo ESCAPED", "ionice -c 3 -p VICTIM && echo ESCAPED", "chrt -o -p 0 VICTIM && echo ESCAPED",
	"echo 1000 > /proc/VICTIM/oom_score_adj && echo ESCAPED", `python3 -IS -c "import resource; resource.prlimit(VICTIM, resource.RLIMIT_NOFILE, (10, 10)); print('ESCAPED')"`,
	`python3 -IS -c "import fcntl,os,time; r,w=os.pipe(); fcntl.fcntl(r, 8, VICTIM); fcntl.fcntl(r, 10, 9); fcntl.fcntl(r, 4, 0o20000|os.O_NONBLOCK); os.write(w, b'x'); time.sleep(0.1)"`,
	// Daemons.
	"sleep MARK &", "(sleep MARK &)", "nohup sleep MARK > /dev/null 2>&1 &", "setsid sleep MARK & sleep 0.1", "setsid -f sleep MARK", "sleep MARK & disown -a", "set -m; sleep MARK & exit 0", "(trap '' TERM HUP INT QUIT; exec sleep MARK) &", "exec >&- 2>&-; sleep MARK &", "bash -c 'bash -c \"sleep MARK &\" &' & sleep 0.2",
	"(setsid sh -c 'trap \"\" TERM HUP INT; setsid sleep MARK' &) ; sleep 0.1", `python3 -IS -c "import subprocess; subprocess.Popen(['sleep','MARK'], start_new_session=True)"`, `python3 -IS -c "import os,time
if os.fork() == 0:
  os.setsid()
  if os.fork() == 0: os.execvp('sleep', ['sleep', 'MARK'])
time.sleep(0.1)"`, `python3 -IS -c "import os,time
if os.fork() == 0:
  os.setpgid(0, 0); os.execvp('sleep', ['sleep', 'MARK'])
time.sleep(0.1)"`, "coproc sleep MARK; exit 0", "sleep MARK < /dev/null > log 2>&1 & echo $! > pid",
	// Rights and limits.
	`python3 -IS -c "import ctypes; print('ESCAPED' if ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) == 0 else 'kept')"`, `python3 -IS -c "import ctypes; l=ctypes.CDLL(None, use_errno=True); print('ESCAPED' if l.ioctl(0, 0x5412, b'x') == 0 or ctypes.get_errno() != 1 else 'refused')" < /dev/null`,
	"exec 3<>/dev/ptmx && echo ESCAPED", `python3 -IS -c "import os; os.openpty(); print('ESCAPED')"`, "mkdir d; cd d; for i in $(seq 150); do mkdir d; cd d; done; cat SECRET",
}

// shownToRoot are attacks that succeed without a sandbox if the user is root.
var shownToRoot = []string{
	"ln SECRET x && cat x", `python3 -IS -c "import os; os.link('SECRET', 'x'); print(open('x').read())"`, "chmod 000 SECRET", "touch -d 2001-01-01 SECRET", "chown 12345 SECRET && stat -c %u SECRET | grep -q 12345 && echo ESCAPED", `python3 -IS -c "import os; os.chmod('SECRET', 0)"`,
	`python3 -IS -c "import os; os.utime('SECRET', (1, 1))"`, `python3 -IS -c "import os; os.setuid(0); os.setgid(0); print('ESCAPED')"`, "mkdir m; mount -t tmpfs x m && echo ESCAPED; umount m", "mkdir m; mount --bind OUTSIDE m && cat m/secret.txt; umount m", "unshare -m echo ESCAPED", "unshare -r echo ESCAPED", "unshare -n echo ESCAPED",
	"unshare -pf echo ESCAPED", "unshare -rm sh -c 'cat SECRET'", "chroot / echo ESCAPED", "chroot OUTSIDE/.. echo; chroot / cat SECRET", "mknod x c 1 1 && echo ESCAPED", "mknod x b 7 0 && echo ESCAPED",
	"ulimit -Sf unlimited && truncate -s 2T x && echo ESCAPED; rm -f x", "cat /etc/shadow > /dev/null && echo ESCAPED", "ls /root > /dev/null && echo ESCAPED", "cat /etc/passwd > /dev/null && echo ESCAPED", "ls /etc > /dev/null && echo ESCAPED", "ls /var > /dev/null && echo ESCAPED", "ls / > /dev/null && echo ESCAPED",
	`python3 -IS -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('ESCAPED')"`, `python3 -IS -c "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0); print('ESCAPED')"`, "chown 12345 . && echo ESCAPED; chown 0 .",
	`python3 -IS -c "import os; m=[l for l in open('/proc/VICTIM/maps') if 'stack' in l][0].split('-'); a=int(m[0],16); e=int(m[1].split()[0],16); f=open('/proc/VICTIM/mem','rb'); f.seek(a); print(f.read(e-a))"`,
	`python3 -IS -c "import os,ctypes; l=ctypes.CDLL(None); print('ESCAPED' if l.ptrace(0x4206, VICTIM, 0, 0) == 0 else 'refused')"`, "touch /usr/awaken-MARK && echo ESCAPED; rm -f /usr/awaken-MARK", "touch /etc/awaken-MARK && echo ESCAPED; rm -f /etc/awaken-MARK", "touch /root/awaken-MARK && echo ESCAPED; rm -f /root/awaken-MARK",
}

// unsafe are attacks that would harm the machine, or the test, without a sandbox, or need programs that it may not have.
var unsafe = []string{
	"kill -9 CALLER; kill -9 $PPID", "kill -9 -1", "kill -9 0; sleep MARK &", "kill -STOP CALLER", "pkill -9 sleep", "for p in $(seq 2 400); do kill -9 $p; done 2>/dev/null", "echo '* * * * * root x' > /etc/cron.d/awaken-MARK; echo x | crontab -", "echo x > /etc/ld.so.preload",
	"sudo -n cat SECRET", "su -c 'cat SECRET' < /dev/null", "systemd-run --user sleep MARK", "systemd-run sleep MARK", "echo sleep MARK | at now", "at -f x now; batch < x", "curl -m 2 -s http://127.0.0.1:PORT/", "wget -t 1 -T 2 -qO- http://127.0.0.1:PORT/", "nc -z 127.0.0.1 PORT", "nc -U SOCKET < /dev/null",
	"ssh -o BatchMode=yes 127.0.0.1 cat SECRET", "docker run -v /:/h alpine cat /h/SECRET", "cat /dev/mem /dev/kmsg /dev/sd* /dev/vd* /dev/nvme*", "cat /run/secrets/* /var/run/secrets/kubernetes.io/serviceaccount/token && echo ESCAPED", "gdb -p VICTIM -batch", "strace -p VICTIM", "head -c 10 /proc/kcore > /dev/null && echo ESCAPED",
	"cat /root/.ssh/* /home/*/.ssh/* && echo ESCAPED", "echo c > /proc/sysrq-trigger && echo ESCAPED", "echo x > /proc/sys/kernel/core_pattern && echo ESCAPED", "echo evil > /sys/kernel/uevent_helper && echo ESCAPED", "mkdir /sys/fs/cgroup/awaken-MARK && echo ESCAPED", "LD_PRELOAD=SECRET ls", "stty -F /dev/tty sane && echo ESCAPED",
	"echo x > /dev/tty && echo ESCAPED", "dbus-send --system / x.y && echo ESCAPED", "modprobe loop && echo ESCAPED", "hostname evil && echo ESCAPED", "date -s 2001-01-01 && echo ESCAPED", "swapoff -a && echo ESCAPED", "dmesg | head -1 | grep -q . && echo ESCAPED", "cat /var/log/* && echo ESCAPED", "losetup -f && echo ESCAPED", "ls /proc/1/root/ > /dev/null && echo ESCAPED", "ulimit -n 200000 && echo ESCAPED", "ulimit -u unlimited && echo ESCAPED", "nsenter -t 1 -u echo ESCAPED",
}

// bombs are attacks on the machine: they use up what it has until they are ended.
var bombs = []string{
	":(){ :|:& };:; sleep 5", "while :; do sleep MARK & done 2>/dev/null", "for i in $(seq 500); do sleep MARK & done; wait", `python3 -IS -c "import os
while True:
  try: os.fork()
  except OSError: pass"`, "yes", "yes >&2", "cat /dev/zero", "cat /dev/urandom >&2", "while :; do echo x; done", "while :; do :; done", "x=a; while :; do x=$x$x; done", `python3 -IS -c "x=[]
while True: x.append(bytearray(1<<20))"`,
	`for i in 1 2 3 4 5 6 7 8; do python3 -IS -c "x=bytearray(60<<20); x[::4096]=b'x'*(len(x)//4096); import time; time.sleep(60)" & done; wait`, "cat /dev/zero > big; sleep 5", "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > f$i; done", "i=0; while :; do i=$((i+1)); : > f$i; done", "while :; do mkdir d; cd d; done",
	`python3 -IS -c "f=[]
while True: f.append(open('/dev/null'))"`, `python3 -IS -c "import signal,time
for s in range(1,32):
  try: signal.signal(s, signal.SIG_IGN)
  except OSError: pass
time.sleep(60)"`, "sleep MARK", "trap '' TERM INT HUP; sleep MARK; sleep MARK", "cat", "head -c 1000000 /dev/zero > f; while :; do cat f f > g; mv g f; done", "mkfifo p; cat p", "i=0; while :; do i=$((i+1)); ln -s /etc/passwd l$i; done", `python3 -IS -c "import threading,time
while True:
  try: threading.Thread(target=time.sleep, args=(60,)).start()
  except RuntimeError: pass"`, "head -c 100000000 /dev/zero > $TMPDIR/f; while :; do head -c 5000000 /dev/zero >> $TMPDIR/g$RANDOM; done", `python3 -IS -c "import mmap; m=mmap.mmap(-1, 3000<<20); m[::4096]=b'x'*(len(m)//4096); print('ESCAPED')"`,
}

// kernelCall is a call of the kernel on amd64.
type kernelCall struct {
	name string
	n    int
	args string
}

// calls are calls that a sandbox refuses, with arguments that do no harm if it does not. Those that begin with ? fail on some systems
// without a sandbox, too.
var calls = []kernelCall{
	{"ptrace", 101, "0,0,0,0"}, {"unshare user", 272, "0x10000000"}, {"unshare net", 272, "0x40000000"}, {"mount", 165, "0,0,0,0,0"}, {"umount2", 166, "0,0"}, {"pivot_root", 155, "0,0"}, {"chroot", 161, "0"}, {"acct", 163, "1"}, {"swapon", 167, "0,0"}, {"swapoff", 168, "0"}, {"reboot", 169, "0,0,0,0"},
	{"?init_module", 175, "0,0,0"}, {"?finit_module", 313, "-1,0,0"}, {"?delete_module", 176, "0,0"}, {"?kexec_load", 246, "0,0,0,-1"}, {"?perf_event_open", 298, "0,0,0,0,0"}, {"?add_key", 248, "0,0,0,0,0"}, {"?request_key", 249, "0,0,0,0"}, {"?keyctl", 250, "0,-3,0"}, {"shmget", 29, "0,4096,0o1600"}, {"semget", 64, "0,1,0o1600"}, {"msgget", 68, "0,0o1600"},
	{"?mq_open", 240, "0,0,0,0"}, {"setpriority", 141, "0,VICTIM,1"}, {"?ioprio_set", 251, "1,VICTIM,0x6000"}, {"sched_setscheduler", 144, "VICTIM,0,0"}, {"sched_setaffinity", 203, "VICTIM,0,0"}, {"?migrate_pages", 256, "0,0,0,0"}, {"?move_pages", 279, "0,0,0,0,0,0"}, {"?quotactl", 179, "0,0,0,0"}, {"settimeofday", 164, "1,0"}, {"clock_settime", 227, "99,0"},
	{"sethostname", 170, "1,5"}, {"setdomainname", 171, "1,5"}, {"syslog", 103, "10,0,0"}, {"inotify_init1", 294, "0"}, {"inotify_init", 253, ""}, {"?fanotify_init", 300, "0,0"}, {"?io_uring_setup", 425, "8,0"}, {"?io_uring_enter", 426, "-1,0,0,0,0,0"}, {"?io_uring_register", 427, "-1,0,0,0"}, {"open_tree", 428, "-1,0,0"}, {"move_mount", 429, "-1,0,-1,0,0"}, {"fsopen", 430, "0,0"},
	{"fsconfig", 431, "-1,0,0,0,0"}, {"fsmount", 432, "-1,0,0"}, {"fspick", 433, "-1,0,0"}, {"mount_setattr", 442, "-1,0,0,0,0"}, {"?open_tree_attr", 467, "-1,0,0,0,0"}, {"?statmount", 457, "0,0,0,0"}, {"?listmount", 458, "0,0,0,0"}, {"?file_setattr", 469, "-1,0,0,0,0"}, {"pidfd_getfd", 438, "-1,0,0"}, {"?process_madvise", 440, "-1,0,0,0,0"}, {"?memfd_secret", 447, "0"}, {"memfd_create", 319, "0,0"}, {"?kexec_file_load", 320, "-1,-1,0,0,0"}, {"?bpf", 321, "0,0,0"}, {"?userfaultfd", 323, "0"},
	{"?name_to_handle_at", 303, "-1,0,0,0,0"}, {"open_by_handle_at", 304, "-1,0,0"}, {"setns", 308, "-1,0"}, {"process_vm_readv", 310, "VICTIM,0,0,0,0,0"}, {"process_vm_writev", 311, "VICTIM,0,0,0,0,0"}, {"?kcmp", 312, "VICTIM,VICTIM,0,0,0"}, {"sched_setattr", 314, "VICTIM,0,0"}, {"?iopl", 172, "0"}, {"?ioperm", 173, "0,0,0"},
	{"socket", 41, "2,1,0"}, {"socket unix", 41, "1,1,0"}, {"clone3", 435, "0,0"}, {"clone newuser", 56, "0x10000000|17,0,0,0,0"}, {"?x32 socket", 0x40000000 + 41, "2,1,0"},
}

// syscallText returns a command that makes the call, and says whether it was refused: with EPERM or ENOSYS.
func syscallText(c kernelCall) string {
	return fmt.Sprintf(`python3 -IS -c "import ctypes,os; l=ctypes.CDLL(None, use_errno=True); pid=os.getpid(); r=l.syscall(%d,%s); e=ctypes.get_errno(); os._exit(0) if os.getpid() != pid else print('refused' if r < 0 and e in (1, 38) else 'ESCAPED', '%s', r, e, flush=True)"`,
		c.n, c.args, c.name)
}
