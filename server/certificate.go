package server

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificateAge is how long a certificate is used before its files are read again.
const certificateAge = time.Second

// certificate is the certificate of the server in two files, which may be replaced while the server
// runs: connections that are made later use what the files have then. It reads them during handshakes,
// at most once a second. While they cannot be used, the last certificate that could be is. It is safe
// for concurrent use.
type certificate struct {
	file, keyFile string // PEM
	logger        *slog.Logger
	now           func() time.Time

	mu      sync.Mutex
	current *tls.Certificate
	cert    []byte // what current was made of
	key     []byte
	read    time.Time // when the files were read last
	problem string    // why they could not be used then, "" if they could
}

// openCertificate reads a certificate and its key.
func openCertificate(file, keyFile string, logger *slog.Logger) (*certificate, error) {
	c := &certificate{file: file, keyFile: keyFile, logger: logger, now: time.Now}
	if err := c.load(); err != nil {
		return nil, err
	}
	c.read = c.now()
	return c, nil
}

// load reads the files and makes the certificate if they have changed. Requires c.mu, unless c is new.
func (c *certificate) load() error {
	cert, err := os.ReadFile(c.file)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return fmt.Errorf("key of the certificate: %w", err)
	}
	if c.current != nil && bytes.Equal(cert, c.cert) && bytes.Equal(key, c.key) {
		return nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", c.file, c.keyFile, err)
	}
	if c.current != nil {
		c.logger.Info("the certificate has changed", "file", c.file, "subject", pair.Leaf.Subject.String(), "expires", pair.Leaf.NotAfter)
	}
	c.current, c.cert, c.key = &pair, cert, key
	return nil
}

// get returns the certificate for a handshake.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.read) >= certificateAge {
		c.read = now
		problem := ""
		if err := c.load(); err != nil {
			if problem = err.Error(); problem != c.problem { // once, not at every handshake
				c.logger.Warn("cannot use the new certificate; keeping the previous one", "error", err)
			}
		}
		c.problem = problem
	}
	return c.current, nil
}
