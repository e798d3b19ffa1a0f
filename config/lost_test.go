package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/store/memory"
)

// secretive is an agent that only processes with the secrets key can read.
const secretive = `"model_id":"m","sections":{"x":{"api_key":"sk-section-secret"}}`

// keyless is a vault without the key of the others.
func keyless(t *testing.T) func(o *config.Options) {
	return func(o *config.Options) {
		v, err := config.NewVault(strings.Repeat("24", 32))
		if err != nil {
			t.Fatal(err)
		}
		o.Vault = v
	}
}

func TestManifest_IncludesDocumentsThatDoNotCompileHere(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("published while the other was there %t", late), func(t *testing.T) {
			store := memory.NewDB().Config()
			one := newRig(t, store, nil)
			one.put("providers/p", `"adapter":"x"`)
			one.put("models/m", `"provider_id":"p","upstream_model":"up"`)
			one.put("agents/seen", secretive)
			var two *rig
			if late {
				two = newRig(t, store, keyless(t))
			}
			one.put("agents/other", secretive)
			if !late {
				two = newRig(t, store, keyless(t))
			}
			_, err := two.Put(t.Context(), key("agents/x"), doc(key("agents/x"), `"model_id":"none"`), false, config.Condition{}, me)
			wantErr(t, err, awaken.ErrInvalid, "none")
			for i := range 100 { // past a checkpoint
				two.put("agents/b", fmt.Sprintf(`"model_id":"m","system_prompt":"%d"`, i))
			}
			one.open()
			if got := one.Registry().AgentIDs(); !slices.Equal(got, []string{"b", "other", "seen"}) {
				t.Errorf("agents are %q: those are gone that the writer could not compile", got)
			}
			if got := two.Registry().AgentIDs(); !slices.Equal(got, []string{"b"}) {
				t.Errorf("agents of the writer are %q", got)
			}
			if got := two.drafts(); len(got) > 0 {
				t.Errorf("drafts are %q, want none: it is live elsewhere", got)
			}
			// A process can delete and repair documents that do not compile in it.
			if err := two.Delete(t.Context(), key("agents/seen"), false, config.Condition{}, me); err != nil {
				t.Fatal(err)
			}
			two.put("agents/other", `"model_id":"m"`)
			one.put("agents/c", `"model_id":"m"`)
			for _, r := range []*rig{one, two} {
				r.put("agents/d", `"model_id":"m"`)
				if got := r.Registry().AgentIDs(); !slices.Equal(got, []string{"b", "c", "d", "other"}) {
					t.Errorf("agents are %q", got)
				}
			}
			if d := two.Diagnostics(); len(d) > 0 {
				t.Errorf("diagnostics are %v", d)
			}
		})
	}
}
