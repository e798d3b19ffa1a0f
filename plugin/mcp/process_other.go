//go:build !unix

package mcp

import (
	"os"
	"os/exec"
)

// lead does nothing: this system has no groups of processes.
func lead(*exec.Cmd) {}

// askGroup asks the program to end.
func askGroup(cmd *exec.Cmd) { _ = cmd.Process.Signal(os.Interrupt) } // it may have ended

// endGroup kills the program.
func endGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended
