package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
)

// A server with a certificate says so in its address, speaks TLS and HTTP/2 there, and is in the list of
// replicas with its version.
func TestServe_SpeaksTLS(t *testing.T) {
	t.Parallel()
	own := httptest.NewTLSServer(nil) // has a certificate of this machine
	defer own.Close()
	pair, dir := own.TLS.Certificates[0], t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	certFile, keyFile := write("cert.pem", "CERTIFICATE", pair.Certificate[0]), write("key.pem", "PRIVATE KEY", key)
	h := host(t, func(s *settings.Settings) { s.Server.CertFile, s.Server.KeyFile = certFile, keyFile })
	if !strings.HasPrefix(h.url, "https://") {
		t.Fatalf("the address is %s", h.url)
	}
	client := own.Client()
	client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	ask := func() (*http.Response, []byte) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", h.url+"/v1/system/replicas", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+h.key)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, data
	}
	var out struct {
		Items []struct {
			ID, Version string
			Lost        bool
			Lag         int64
		}
	}
	for len(out.Items) == 0 && t.Context().Err() == nil { // it describes itself when it begins to serve
		resp, data := ask()
		if err := json.Unmarshal(data, &out); err != nil || resp.StatusCode != 200 || resp.ProtoMajor != 2 {
			t.Fatalf("%s %s: %s, %v", resp.Proto, resp.Status, data, err)
		}
	}
	if r := out.Items[0]; len(out.Items) != 1 || r.ID == "" || r.Version != moduleVersion() || r.Lost || r.Lag != 0 {
		t.Errorf("replicas are %+v", out.Items)
	}
}

// Files that cannot be used are a mistake in the configuration, with the reason.
func TestServe_RefusesACertificateWithoutItsKey(t *testing.T) {
	t.Parallel()
	s := settings.Defaults()
	s.Server.Address, s.StorageDir, s.Server.CertFile = "127.0.0.1:0", t.TempDir(), "cert.pem"
	err := serve(context.Background(), &console{in: strings.NewReader(""), out: io.Discard, err: io.Discard}, s, newCode(s))
	if err == nil || !strings.Contains(err.Error(), "want both or none") {
		t.Errorf("error is %v", err)
	}
}
