//go:build unix

package publishtest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/store/memory"
)

// TestCheck_DetectsPartialWrites makes changes that leave something out.
func TestCheck_DetectsPartialWrites(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *config.Manager, head config.Head) *config.Change
		says   string
	}{
		{"nothing", func(*config.Manager, config.Head) *config.Change { return nil }, ""},
		{"a record without a version", func(*config.Manager, config.Head) *config.Change {
			return &config.Change{Records: []config.RecordChange{{Key: key("agents/count"), Expect: -1,
				Record: &config.Record{Spec: json.RawMessage(`{"id":"count","model_id":"pair-0"}`), Meta: config.Meta{Source: config.Source{Kind: config.User}, Revision: 4}}}}}
		}, "agents/count is not what is live"},
		{"a version without an event", func(_ *config.Manager, head config.Head) *config.Change {
			return &config.Change{Publish: &config.Publication{Number: head.Last + 1, Base: head.Live, Kind: "publish"}}
		}, "is not in the audit log"},
		{"a version without its record", func(_ *config.Manager, head config.Head) *config.Change {
			return &config.Change{Records: []config.RecordChange{{Key: key("agents/back"), Expect: -1}}}
		}, "live agents/back"},
		{"a secret without its document", func(m *config.Manager, _ config.Head) *config.Change {
			o, err := options(nil)
			if err != nil {
				t.Fatal(err)
			}
			ref := "providers/p#/api_key"
			s := o.Vault.Encrypt(ref, awaken.NewSecret("sk-other"))
			s.Revision = 99
			return &config.Change{Secrets: []config.SecretChange{{Ref: ref, Secret: &s}}}
		}, "secret of another age"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := context.Background()
			store := memory.NewDB().Config()
			o, err := options(store)
			if err != nil {
				t.Fatal(err)
			}
			m, err := config.Open(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for i, step := range script(1) {
				if err := step(ctx, m); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
			}
			head, err := store.Head(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if change := c.change(m, head); change != nil {
				if err := store.Apply(ctx, change); err != nil {
					t.Fatal(err)
				}
			}
			problems := strings.Join(check(ctx, store), "\n")
			if c.says == "" && problems != "" || !strings.Contains(problems, c.says) {
				t.Errorf("the check says %q, want %q", problems, c.says)
			}
		})
	}
}
