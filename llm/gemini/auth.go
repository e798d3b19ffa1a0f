package gemini

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
)

// identity holds the credentials: a key, an account, or neither if the configured headers
// contain them.
type identity struct {
	key     string
	account *account
}

func (c *Config) identity() (identity, error) {
	if c.Authorized("Authorization", "X-Goog-Api-Key") {
		return identity{}, nil
	}
	if !c.Vertex {
		key, err := c.Key(Name, "GEMINI_API_KEY", "GOOGLE_API_KEY")
		return identity{key: key}, err
	}
	key := strings.TrimSpace(c.APIKey)
	if file := cmp.Or(c.KeyFile, os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")); key == "" && file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return identity{}, fmt.Errorf("gemini: service account: %w", err)
		}
		key = strings.TrimSpace(string(data))
	}
	switch {
	case key == "":
		return identity{}, errors.New("gemini: no service account for Vertex AI: configure its JSON as the key, configure a key file, or set GOOGLE_APPLICATION_CREDENTIALS")
	case !strings.HasPrefix(key, "{"):
		return identity{key: key}, nil
	}
	a, err := newAccount([]byte(key), c.Scopes)
	return identity{account: a}, err
}
