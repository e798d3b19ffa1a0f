package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// serverFlags are the flags of commands that call a server.
type serverFlags struct {
	url, tenant string
}

func (f *serverFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.tenant, "tenant", "", "`name` of the tenant; default none")
	fl.StringVar(&f.url, "url", "", "`address` of the server; default AWAKEN_URL, or http://127.0.0.1:3000")
}

// client returns a client of the server that the flags and the environment name.
func (f *serverFlags) client() (*client, error) {
	base := cmp.Or(f.url, os.Getenv("AWAKEN_URL"), "http://127.0.0.1:3000")
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usageError("the address of the server is %q; want one such as http://127.0.0.1:3000", base)
	}
	return &client{strings.TrimSuffix(base, "/"), os.Getenv("AWAKEN_KEY"), f.tenant}, nil
}

// run returns a client, and the id of the run that an argument names; see [client.runOf].
func (f *serverFlags) run(ctx context.Context, id string) (*client, string, error) {
	c, err := f.client()
	if err != nil {
		return nil, "", err
	}
	run, err := c.runOf(ctx, id)
	return c, run, err
}

// client calls a server.
type client struct {
	base, key, tenant string
}

// runOf returns the id of the run that an argument names: the run itself, or the latest run of a thread.
func (c *client) runOf(ctx context.Context, id string) (string, error) {
	_, err := c.call(ctx, "GET", "/v1/runs/"+url.PathEscape(id), nil, nil)
	if no, ok := errors.AsType[*refusal](err); !ok || no.status != http.StatusNotFound {
		return id, err
	}
	var run struct {
		RunID string `json:"run_id"`
	}
	if _, err := c.call(ctx, "GET", "/v1/threads/"+url.PathEscape(id)+"/runs/latest", nil, &run); err != nil || run.RunID == "" {
		if no, ok := errors.AsType[*refusal](err); err == nil || ok && no.status == http.StatusNotFound {
			return "", configError("no run or thread with ID %q", id)
		}
		return "", err
	}
	return run.RunID, nil
}

// refusal is an error that a server answers with.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// call sends a request and decodes the answer, which it returns too. Out may be nil.
func (c *client) call(ctx context.Context, method, path string, body, out any) ([]byte, error) {
	var send io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		send = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, send)
	if err != nil {
		return nil, failed(err)
	}
	headers := map[string]string{"Content-Type": "application/json", "X-Awaken-Tenant": c.tenant}
	if c.key != "" {
		headers["Authorization"] = "Bearer " + c.key
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if headers[name] != "" {
			req.Header.Set(name, headers[name])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, failed(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return nil, failed(err)
	}
	if resp.StatusCode >= 400 {
		return nil, &exitError{code: exitFailed, err: refused(resp.StatusCode, data), hint: keyHint(resp.StatusCode, c.key)}
	}
	if out != nil {
		if err := json.Unmarshal(data, out); err != nil {
			return nil, failed(fmt.Errorf("the server's answer to %s %s: %w", method, path, err))
		}
	}
	return data, nil
}

// refused returns the error of an answer.
func refused(status int, data []byte) error {
	var said struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	text := http.StatusText(status)
	if json.Unmarshal(data, &said) == nil {
		var inner struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(said.Error, &inner) == nil && inner.Message != "" {
			said.Message = inner.Message
		}
		var plain string
		if json.Unmarshal(said.Error, &plain) == nil && said.Message == "" {
			said.Message = plain
		}
		text = cmp.Or(said.Message, text)
	}
	return &refusal{status, fmt.Sprintf("the server answers %d: %s", status, printable(text, false))}
}

func keyHint(status int, key string) string {
	if status == http.StatusUnauthorized && key == "" {
		return "Set AWAKEN_KEY to an admin key."
	}
	return ""
}
