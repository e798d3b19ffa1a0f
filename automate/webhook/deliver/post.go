package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/internal/httpguard"
	"github.com/awaken-go/awaken/internal/tracecontext"
)

// MaxURL is the maximum length of a URL.
const MaxURL = 2048

// CheckURL returns an error if a hook must not have this URL. The addresses of a host name are checked with every delivery.
func (s *Sender) CheckURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return fmt.Errorf("url is %.200q, want one such as https://example.com/notify", raw)
	case len(raw) > MaxURL:
		return fmt.Errorf("url has %d bytes, want at most %d", len(raw), MaxURL)
	case u.User != nil:
		return errors.New("url contains credentials, which belong into authentication")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("url has the scheme %.40q, want https", u.Scheme)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("url has the port %.40s, want 1 to 65535", port)
		}
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	addr, err := netip.ParseAddr(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		addr, err = netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	}
	literal := err == nil
	allowed := literal && slices.ContainsFunc(s.cfg.Allow, func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) })
	switch {
	case literal && !allowed && !httpguard.Public(addr):
		return fmt.Errorf("url names the host %.80q, which is not on the public internet; "+
			"the operator can allow its network (outbound.tenants_allow)",
			u.Hostname())
	case u.Scheme == "http" && (literal && !allowed || len(s.cfg.Allow) == 0):
		return errors.New("url has the scheme http, want https; http is for networks that the operator allows (outbound.tenants_allow)")
	}
	return nil
}

// outcome is the result of an attempt.
type outcome struct {
	webhook.Attempt
	pause time.Duration // requested by the receiver, or 0
}

// post sends a message.
func (s *Sender) post(ctx context.Context, to *webhook.Target, id string, body []byte, contentType string) outcome {
	began := time.Now()
	a := outcome{Attempt: webhook.Attempt{At: began.UTC()}}
	var err error
	a.Status, a.pause, err = s.request(ctx, to, id, began, body, contentType)
	a.TookMS = time.Since(began).Milliseconds()
	switch {
	case err != nil:
		a.Error = fmt.Sprintf("%.300s", sansURL(err))
	case a.Status >= 300 && a.Status < 400:
		a.Error = fmt.Sprintf("status %d: redirects are not followed", a.Status)
	case a.Status < 200 || a.Status >= 300:
		a.Error = fmt.Sprintf("status %d", a.Status)
	}
	return a
}

// sansURL returns an error without the URL of the request, which may contain secrets.
func sansURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func (s *Sender) request(ctx context.Context, to *webhook.Target, id string, at time.Time, body []byte, contentType string) (status int, pause time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	tracecontext.Of(ctx).Inject(req.Header.Set)
	for name, value := range to.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "awaken")
	seconds := strconv.FormatInt(at.Unix(), 10)
	req.Header.Set(webhook.IDHeader, id)
	req.Header.Set(webhook.TimeHeader, seconds)
	if to.Secret != "" {
		signature := webhook.Sign(to.Secret, id, seconds, body)
		if to.Former != "" {
			signature += " " + webhook.Sign(to.Former, id, seconds, body)
		}
		req.Header.Set(webhook.SignatureHeader, signature)
	}
	resp, err := s.client.Do(req)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", s.cfg.Timeout)
	}
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	return resp.StatusCode, pauseOf(resp, at), nil
}

// pauseOf returns the pause that an overloaded receiver asks for with Retry-After, in seconds or as a time.
func pauseOf(resp *http.Response, now time.Time) time.Duration {
	text := resp.Header.Get("Retry-After")
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable || text == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
