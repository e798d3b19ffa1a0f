package main

import (
	"os"
	"os/exec"
	"runtime"
)

// browse opens a page in a browser: the program that $BROWSER names, or else the system's. It does not wait for it.
func browse(url string) error {
	args := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		args = []string{"open"}
	case "windows":
		args = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if own := os.Getenv("BROWSER"); own != "" {
		args = []string{own}
	}
	cmd := exec.Command(args[0], append(args[1:], url)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
