package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// console is the standard input and output of the command.
type console struct {
	in       io.Reader
	out, err io.Writer
	// Which of them is a terminal.
	inTTY, outTTY, errTTY bool
	color                 bool

	lines lineReader // of in

	browse bool // open the web console once the server listens
}

func newConsole(in, out, err *os.File) *console {
	con := &console{in: in, out: out, err: err, inTTY: term.IsTerminal(int(in.Fd())),
		outTTY: term.IsTerminal(int(out.Fd())), errTTY: term.IsTerminal(int(err.Fd()))}
	con.color = con.errTTY && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return con
}

// ask prints a question and returns the answer, trimmed. At the end of the input it returns
// io.EOF.
func (c *console) ask(ctx context.Context, question string) (string, error) {
	fmt.Fprint(c.err, question)
	line, err := c.lines.next(ctx, c.in)
	if err != nil {
		fmt.Fprintln(c.err) // in place of the answer's newline
		return "", err
	}
	return strings.TrimSpace(line), nil
}

func (c *console) dim(s string) string {
	if !c.color || s == "" {
		return s
	}
	return "\x1b[2m" + s + "\x1b[22m"
}

// lineReader reads lines and can stop waiting for one. The read then continues in the
// background, and its line is the next result.
type lineReader struct {
	r    *bufio.Reader
	got  chan line
	busy bool
}

type line struct {
	text string
	err  error
}

func (l *lineReader) next(ctx context.Context, in io.Reader) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if l.r == nil {
		l.r, l.got = bufio.NewReader(in), make(chan line, 1)
	}
	if !l.busy {
		l.busy = true
		go func() { // ends with the read; a read from a terminal cannot be interrupted
			text, err := l.r.ReadString('\n')
			l.got <- line{text, err}
		}()
	}
	select {
	case x := <-l.got:
		l.busy = false
		if x.err == io.EOF && x.text != "" {
			x.err = nil
		}
		return x.text, x.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// printable makes s safe to print on a terminal: the output of a model or a tool must not move
// the cursor or disguise a question. It keeps newlines if multiline is set.
func printable(s string, multiline bool) string {
	ok := func(r rune) bool {
		return unicode.IsPrint(r) || r == '\t' || r == '\n' && multiline || unicode.Is(unicode.Zs, r)
	}
	var sb strings.Builder
	for _, r := range s {
		switch {
		case ok(r):
			sb.WriteRune(r)
		case r == '\n' || r == '\r':
			sb.WriteByte(' ')
		default:
			fmt.Fprintf(&sb, `\u%04x`, r)
		}
	}
	return sb.String()
}

// withoutControls replaces the control characters in a fragment of text with question marks.
// The fragment may begin or end inside a UTF-8 sequence.
func withoutControls(s string) string {
	out := []byte(s)
	for i, b := range out {
		c1 := b >= 0x80 && b < 0xa0 && i > 0 && s[i-1] == 0xc2
		if b < 0x20 && b != '\n' && b != '\t' || b == 0x7f || c1 {
			out[i] = '?'
		}
	}
	return string(out)
}
