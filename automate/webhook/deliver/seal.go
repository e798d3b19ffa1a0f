package deliver

import (
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/automate/webhook"
)

// credentials is the part of a target that is stored encrypted: the headers and the signing secret of its requests.
type credentials struct {
	Headers map[string]string `json:"headers,omitempty"`
	Secret  string            `json:"secret,omitempty"`
}

// sealName returns the name that the credentials of a hook are sealed under. It binds them to the hook and its URL.
func sealName(h *webhook.Hook) string {
	return fmt.Sprintf("webhook hook %q %q %q %q", h.Tenant, h.RunID, h.ID, h.Target.URL)
}

// seal encrypts the plaintext credentials of a hook's target, if it has any. Without a Sealer they remain in plain text. Errors are
// [ErrSeal].
func (s *Sender) seal(h *webhook.Hook) error {
	t := &h.Target
	if s.cfg.Sealer == nil || len(t.Headers) == 0 && t.Secret == "" {
		return nil
	}
	plain, err := json.Marshal(credentials{t.Headers, t.Secret})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSeal, err)
	}
	sealed, err := s.cfg.Sealer.Seal(sealName(h), plain)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSeal, err)
	}
	t.Headers, t.Secret, t.Sealed = nil, "", sealed
	return nil
}

// open returns the target of a hook with its credentials.
func (s *Sender) open(h *webhook.Hook) (webhook.Target, error) {
	t := h.Target
	if len(t.Sealed) == 0 {
		return t, nil
	}
	if s.cfg.Sealer == nil {
		return t, fmt.Errorf("the credentials of hook %s of run %s are encrypted, but there is no key", h.ID, h.RunID)
	}
	plain, err := s.cfg.Sealer.Open(sealName(h), t.Sealed)
	if err != nil {
		return t, fmt.Errorf("the credentials of hook %s of run %s cannot be read: %w", h.ID, h.RunID, err)
	}
	var c credentials
	if err := json.Unmarshal(plain, &c); err != nil {
		return t, err
	}
	t.Headers, t.Secret, t.Sealed = c.Headers, c.Secret, nil
	return t, nil
}

// CheckTarget reports why the credentials of a target cannot be stored, before anything is done that they belong to. Errors are
// [ErrSeal].
func (s *Sender) CheckTarget(t webhook.Target) error {
	return s.seal(&webhook.Hook{State: webhook.State{Target: t}})
}
