package config

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
)

// Rotate encrypts every secret with the vault's first key, and returns how many were
// encrypted with another one.
func (m *Manager) Rotate(ctx context.Context, by Actor) (int, error) {
	vault := m.o.Vault
	if vault == nil {
		return 0, fmt.Errorf("%w: this server has no key for secrets: set secrets.key_file or secrets.key", awaken.ErrInvalid)
	}
	count := 0
	_, err := m.publisher.write(ctx, intent{by: by, resource: "secrets"}, func(_ context.Context, p *plan) error {
		count = 0
		for ref, sealed := range p.now.secrets.sealed {
			if sealed.KeyID == vault.keyID() {
				continue
			}
			value, err := p.now.secrets.value(ref)
			if err != nil {
				return err
			}
			next := vault.Encrypt(ref, value)
			next.Revision, next.UpdatedAt, next.Server = sealed.Revision, sealed.UpdatedAt, sealed.Server
			p.secrets = append(p.secrets, SecretChange{Ref: ref, Secret: &next})
			count++
		}
		if count == 0 {
			return nil
		}
		p.event("rotate", "secrets").After = encode(map[string]any{"secrets": count, "key_id": vault.keyID()})
		return nil
	})
	return count, err
}
