package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// curl is the part of curl that the documentation and the scripts use:
//
//	curl [-s] [-sS] [-N] [-i] [-X METHOD] [-H 'Name: value']... [-d|--data BODY] [--max-time SECONDS] URL
//
// It exits with 0 when there is an answer, whatever its status, as curl does.
func curl(ctx context.Context, args []string, out io.Writer) (status int, err error) {
	method, url, body := "", "", ""
	show, hasBody := false, false
	header := http.Header{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		value := func() string {
			if i++; i == len(args) {
				err = fmt.Errorf("curl: %s needs a value", arg)
				return ""
			}
			return args[i]
		}
		switch {
		case arg == "-s" || arg == "-N" || arg == "-sN" || arg == "-sS":
		case arg == "-i":
			show = true
		case arg == "-X":
			method = value()
		case arg == "-H":
			name, v, ok := strings.Cut(value(), ":")
			if !ok {
				return 0, fmt.Errorf("curl: header %q has no colon", args[i])
			}
			header.Add(strings.TrimSpace(name), strings.TrimSpace(v))
		case arg == "-d" || arg == "--data":
			body, hasBody = value(), true
		case arg == "--max-time":
			d, parseErr := time.ParseDuration(value() + "s")
			if parseErr != nil {
				return 0, parseErr
			}
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, d)
			defer cancel()
		case strings.HasPrefix(arg, "-"):
			return 0, fmt.Errorf("curl: the test knows no option %s", arg)
		case url != "":
			return 0, fmt.Errorf("curl: two URLs, %s and %s", url, arg)
		default:
			url = arg
		}
	}
	if err != nil {
		return 0, err
	}
	if method == "" {
		if method = "GET"; hasBody {
			method = "POST"
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header = header
	if hasBody && header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/x-www-form-urlencoded") // as curl does
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if show {
		fmt.Fprintln(out, resp.Proto, resp.Status)
		for name := range resp.Header {
			fmt.Fprintf(out, "%s: %s\n", name, resp.Header.Get(name))
		}
		fmt.Fprintln(out)
	}
	_, err = io.Copy(out, resp.Body)
	if ctx.Err() != nil {
		err = nil // it had enough
	}
	return resp.StatusCode, err
}

// scriptCurl is the script command curl. It asks in this process: to start another takes longer than most answers.
func scriptCurl(ts *testscript.TestScript, neg bool, args []string) {
	_, err := curl(context.Background(), args, ts.Stdout())
	if err != nil {
		fmt.Fprintln(ts.Stderr(), err)
	}
	if neg != (err != nil) {
		ts.Fatalf("curl ended with the error %v", err)
	}
}

// firstFrame is a writer that has enough after one frame of a stream with data.
type firstFrame struct {
	buf  bytes.Buffer
	done context.CancelFunc
}

func (w *firstFrame) Write(p []byte) (int, error) {
	w.buf.Write(p)
	if _, data, ok := strings.Cut(w.buf.String(), "data: "); ok && strings.Contains(data, "\n\n") {
		w.done()
	}
	return len(p), nil
}

// shellWords takes a command line apart: quotes, backslashes, and variables of vars.
func shellWords(line string, vars map[string]string) (words []string, err error) {
	in := bufio.NewReader(strings.NewReader(line))
	var word strings.Builder
	started := false
	quote := rune(0)
	for {
		r, _, err := in.ReadRune()
		if errors.Is(err, io.EOF) {
			break
		}
		switch {
		case quote == 0 && (r == ' ' || r == '\n' || r == '\t'):
			if started {
				words, started = append(words, word.String()), false
				word.Reset()
			}
			continue
		case quote == 0 && r == '#' && !started:
			return words, nil
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote != 0 && r == quote:
			quote = 0
		case r == '\\' && quote != '\'':
			next, _, _ := in.ReadRune()
			if next == '\n' {
				continue
			}
			word.WriteRune(next)
		case r == '$' && quote != '\'':
			name := ""
			for {
				c, _, err := in.ReadRune()
				if err != nil {
					break
				}
				if c != '_' && (c < 'A' || c > 'Z') {
					_ = in.UnreadRune()
					break
				}
				name += string(c)
			}
			v, ok := vars[name]
			if !ok {
				return nil, fmt.Errorf("$%s is not set", name)
			}
			word.WriteString(v)
		default:
			word.WriteRune(r)
		}
		started = true
	}
	if quote != 0 {
		return nil, fmt.Errorf("quote %c is not closed", quote)
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}
