//go:build unix

package testenv

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU returns the CPU time that a process has used so far. It needs /proc.
func CPU(pid int) (time.Duration, error) {
	s, err := readStat(pid)
	return s.used, err
}

// stat is a part of /proc/<pid>/stat.
type stat struct {
	parent int
	used   time.Duration // of the process
	waited time.Duration // of the children that it has waited for
}

func readStat(pid int) (s stat, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, err
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const parent, used, waited = 1, 11, 13 // both times are a pair, user and system
	if len(fields) <= waited+1 {
		return s, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	number := func(i int) int {
		n, parseErr := strconv.Atoi(fields[i])
		if parseErr != nil {
			err = parseErr
		}
		return n
	}
	const tick = 10 * time.Millisecond // of Linux, for programs
	s = stat{number(parent), time.Duration(number(used)+number(used+1)) * tick, time.Duration(number(waited)+number(waited+1)) * tick}
	return s, err
}

// CPU returns the CPU time that the server and all its processes have used so far, also those that have ended. It needs /proc.
func (p *Postgres) CPU() (time.Duration, error) {
	data, err := os.ReadFile(filepath.Join(p.dir, "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	postmaster, err := strconv.Atoi(line)
	if err != nil {
		return 0, err
	}
	s, err := readStat(postmaster)
	if err != nil {
		return 0, err
	}
	sum := s.used + s.waited
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, path := range processes {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil && s.parent == postmaster { // others may have ended
			sum += s.used
		}
	}
	return sum, nil
}
