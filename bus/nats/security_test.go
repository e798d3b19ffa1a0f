package nats_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
	"github.com/awaken-go/awaken/bus/nats"
)

// authority signs the certificates of a test.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key, a.file, _ = a.issue(name, nil)
	return a
}

// issue writes a certificate and its key to files. Without a parent it is an authority's.
func (a *authority) issue(name string, parent *authority) (cert *x509.Certificate, key *ecdsa.PrivateKey, certFile, keyFile string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature}
	signer, signerKey := template, key
	if parent != nil {
		signer, signerKey = parent.cert, parent.key
	} else {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signerKey)
	if err != nil {
		a.t.Fatal(err)
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return cert, key, certFile, keyFile
}

// connects reports whether a bus with these options reaches the server.
func connects(t *testing.T, url string, opts nats.Options) bool {
	t.Helper()
	b := open(t, url, "awaken.test", &opts)
	for late := time.Now().Add(3 * time.Second); time.Now().Before(late); time.Sleep(20 * time.Millisecond) {
		if b.Publish(t.Context(), bus.Message{To: "p", Text: "x"}) == nil {
			in := bustest.Listen(t, b, "p")
			if err := b.Publish(t.Context(), bus.Message{To: "p", Text: "by a secure connection"}); err != nil {
				t.Fatal(err)
			}
			in.AwaitText("by a secure connection")
			return true
		}
	}
	return false
}

func TestOpen_ChecksTheServersCertificateAndShowsItsOwn(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	_, _, serverCert, serverKey := ours.issue("server", ours)
	_, _, cert, key := ours.issue("process", ours)
	_, _, strangerCert, strangerKey := theirs.issue("stranger", theirs)
	s := start(t, "-1", "--tls", "--tlsverify", "--tlscert", serverCert, "--tlskey", serverKey, "--tlscacert", ours.file)
	url := "tls://" + s.Address
	if !connects(t, url, nats.Options{CAFile: ours.file, CertFile: cert, KeyFile: key}) {
		t.Error("a process with the right certificate cannot connect")
	}
	for name, opts := range map[string]nats.Options{
		"that trusts another authority":        {CAFile: theirs.file, CertFile: cert, KeyFile: key},
		"that trusts only those of the system": {CertFile: cert, KeyFile: key},
		"without a certificate":                {CAFile: ours.file},
		"with a certificate of a stranger":     {CAFile: ours.file, CertFile: strangerCert, KeyFile: strangerKey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if connects(t, url, opts) {
				t.Error("it connects")
			}
		})
	}
}

func TestOpen_ShowsItsCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := "nats://" + start(t, "-1", "-credentials", dir).Address
	if !connects(t, url, nats.Options{Credentials: filepath.Join(dir, "user.creds")}) {
		t.Error("a user of the account cannot connect")
	}
	for name, opts := range map[string]nats.Options{
		"a user of an unknown account": {Credentials: filepath.Join(dir, "stranger.creds")},
		"without credentials":          {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if connects(t, url, opts) {
				t.Error("it connects")
			}
		})
	}
}
