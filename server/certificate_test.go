package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCertificate writes a certificate of this machine with a name, and its key, in place of others.
func writeCertificate(t testing.TB, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, b := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file+".new", pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// Handshakes use the certificate that the files have, read at most once a second, and the last usable
// one while they have none. What is wrong with it is logged once.
func TestCertificate_FollowsItsFiles(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Unix(0, 0)
	var log bytes.Buffer
	certFile, keyFile := writeCertificate(t, dir, "first")
	c, err := openCertificate(certFile, keyFile, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	c.now, c.read = func() time.Time { return now }, now
	shows := func(want string) {
		t.Helper()
		got, err := c.get(nil)
		if err != nil || got.Leaf.Subject.CommonName != want {
			t.Errorf("the certificate is %v, %v, want %s", got.Leaf.Subject, err, want)
		}
	}
	writeCertificate(t, dir, "second")
	now = now.Add(certificateAge - 1)
	shows("first")
	now = now.Add(1)
	shows("second")
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range [][]byte{nil, []byte("no PEM"), key[:20]} {
		if err := os.WriteFile(c.keyFile, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
		shows("second")
	}
	now = now.Add(time.Minute)
	log.Reset()
	shows("second")
	if strings.Contains(log.String(), "cannot use the new certificate") {
		t.Errorf("the same problem is logged again: %s", log.String())
	}
	if err := os.Remove(c.file); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	shows("second")
	if !strings.Contains(log.String(), "cannot use the new certificate") {
		t.Errorf("the log does not say that the files cannot be used: %s", log.String())
	}
	writeCertificate(t, dir, "third")
	now = now.Add(time.Minute)
	shows("third")
}
