package config_test

import (
	"testing"

	"github.com/awaken-go/awaken/config"
)

func TestCanary_KeepsItsSecrets(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.draft("providers/p", `"adapter":"x","timeout_secs":7`)
	if _, err := r.Drafts().Publish(t.Context(), nil, &config.Canary{Share: 1}, "", me); err != nil {
		t.Fatal(err)
	}
	r.put("providers/p", `"adapter":"x","api_key":""`) // what is live has none
	r.wantAnswer("[sk-first-secret]one up 2 tools", "4")
}
