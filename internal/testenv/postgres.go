//go:build unix

package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Postgres is a PostgreSQL server for the tests of one package. It listens on a Unix socket
// in its own folder. Server and folder are removed when the test process ends, however it
// ends:
//
//	func TestMain(m *testing.M) { os.Exit(testenv.WithPostgres(m, &server)) }
type Postgres struct {
	dir       string
	bin       string
	cred      *syscall.Credential // nil means the current user
	stdin     io.Closer           // closing it ends the server
	cmd       *exec.Cmd
	databases atomic.Int64
}

// WithPostgres runs the tests of a package with a server, which it stores in *p, and returns
// their exit status.
func WithPostgres(m *testing.M, p **Postgres, settings ...string) int {
	server, err := StartPostgres(settings...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		return 1
	}
	defer server.Stop()
	*p = server
	return m.Run()
}

// guard starts the server, stops it when its standard input is closed, which happens even if
// this process dies, and removes the folder.
const guard = `
trap '' INT TERM HUP
"$1/postgres" -D "$2/data" -k "$2" $3 >"$2/log" 2>&1 </dev/null &
read -r _
kill -QUIT $!
wait $!
rm -rf "$2"
`

// StartPostgres creates a cluster and starts it. By default nothing is synced to the disk;
// settings, such as fsync=on, override the defaults.
func StartPostgres(settings ...string) (_ *Postgres, err error) {
	p := &Postgres{}
	if p.bin, err = findPostgres(); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 { // the server refuses to run as root
		if p.cred, err = unprivileged(); err != nil {
			return nil, err
		}
	}
	// The path of a Unix socket is limited to about 100 bytes, so do not use a test folder.
	if p.dir, err = os.MkdirTemp("/tmp", "pg"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(p.dir))
		}
	}()
	if p.cred != nil {
		if err := os.Chown(p.dir, int(p.cred.Uid), int(p.cred.Gid)); err != nil {
			return nil, err
		}
	}
	initdb := p.command(filepath.Join(p.bin, "initdb"), "-D", filepath.Join(p.dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	var flags []string
	for _, s := range append([]string{"listen_addresses=", "fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=100", "autovacuum=off"}, settings...) {
		flags = append(flags, "-c", s)
	}
	p.cmd = p.command("/bin/sh", "-c", guard, "sh", p.bin, p.dir, strings.Join(flags, " "))
	p.cmd.SysProcAttr.Setpgid = true // an interrupt from the terminal must only reach the tests
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if err := p.await(); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// command returns a command that runs as the user of the server.
func (p *Postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.cred}
	return cmd
}

// await waits until the server accepts connections.
func (p *Postgres) await() error {
	var err error
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = p.psql("SELECT 1"); err == nil {
			return nil
		}
	}
	log, _ := os.ReadFile(filepath.Join(p.dir, "log"))
	return fmt.Errorf("postgres did not start: %w\n%s", err, log)
}

func (p *Postgres) psql(sql string) error {
	_, err := p.query(sql)
	return err
}

// query returns what a statement prints.
func (p *Postgres) query(sql string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", p.dir, "-U", "postgres", "-d", "postgres", "-c", sql)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, bytes.TrimSpace(out))
	}
	return string(bytes.TrimSpace(out)), nil
}

// Restart makes the server end all connections and start again, as after a crash.
func (p *Postgres) Restart() error {
	out, err := p.query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(out)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	return p.await()
}

// Stop stops the server and removes its folder.
func (p *Postgres) Stop() error {
	return errors.Join(p.stdin.Close(), p.cmd.Wait())
}

// Database creates an empty database and returns its URL. It panics on an error.
func (p *Postgres) Database() string {
	name := fmt.Sprintf("test%d", p.databases.Add(1))
	if err := p.psql("CREATE DATABASE " + name); err != nil {
		panic(err)
	}
	return "postgres:///" + name + "?user=postgres&host=" + p.dir
}

// Copy creates a database from a dump of the one at a URL, as it is now, and returns its URL.
func (p *Postgres) Copy(url string) (string, error) {
	to := p.Database()
	dump := exec.Command("/bin/sh", "-c", `set -e; "$1/pg_dump" "$2" >"$4"; "$1/psql" -X -q -v ON_ERROR_STOP=1 -d "$3" -f "$4"; rm "$4"`,
		"sh", p.bin, url, to, filepath.Join(p.dir, "dump-"+filepath.Base(strings.SplitN(to, "?", 2)[0])))
	if out, err := dump.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pg_dump: %w: %s", err, bytes.TrimSpace(out))
	}
	return to, nil
}

// findPostgres returns the folder with the programs of the newest server.
func findPostgres() (string, error) {
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin") // the Debian layout
	if err != nil {
		return "", err
	}
	version := func(dir string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		return n
	}
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("PostgreSQL not found: scripts/test installs it, or run apt-get install postgresql")
}

// unprivileged returns the user that runs the server if the tests run as root: postgres, or
// the conventional overflow user 65534.
func unprivileged() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.LookupId("65534"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
