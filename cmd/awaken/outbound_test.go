package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
)

// Tenants' addresses have a list of networks of their own: a network that is open to providers takes no webhook and no
// push notification.
func TestOutbound_NetworksOfOperatorsAreNotTenants(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(receiver.Close)
	message := func(id string) string {
		return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","parts":[{"text":"hello"}]},"configuration":{"taskPushNotificationConfig":{"url":"` +
			receiver.URL + `","token":"plain-push-token","authentication":{"scheme":"Bearer","credentials":"plain-push-credential"}}}}`
	}
	for _, tt := range []struct {
		name    string
		change  func(s *settings.Settings)
		allowed bool
	}{
		{"operators", func(s *settings.Settings) { s.Outbound.Allow = []string{"127.0.0.0/8"} }, false},
		{"tenants", func(s *settings.Settings) { s.Outbound.TenantsAllow = []string{"127.0.0.0/8"} }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := host(t, func(s *settings.Settings) {
				s.SeedProfile = "demo"
				tt.change(s)
			})
			for _, post := range []struct{ path, body string }{
				{"/v1/webhooks", `{"id":"w","url":"` + receiver.URL + `"}`},
				{"/v1/a2a/default/message:send", message("m1")},
			} {
				var out strings.Builder
				code, err := curl(t.Context(), []string{"-H", "Authorization: Bearer " + h.key, "-H", "A2A-Version: 1.0", "-H", "Content-Type: application/json", "-d", post.body, h.url + post.path}, &out)
				if err != nil {
					t.Fatal(err)
				}
				if (code/100 == 2) != tt.allowed || !tt.allowed && !strings.Contains(out.String(), "outbound.tenants_allow") {
					t.Errorf("%s: %d %s", post.path, code, out.String())
				}
			}
			// What a receiver is given is not in the files of the database.
			err := filepath.WalkDir(h.settings.StorageDir, func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(name)
				if strings.Contains(string(data), "plain-push-") {
					t.Errorf("%s has a credential", name)
				}
				return err
			})
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			provider, _ := json.Marshal(map[string]any{"id": "local", "adapter": "openai", "base_url": receiver.URL, "api_key": "k"})
			var out strings.Builder
			code, err := curl(t.Context(), []string{"-X", "PUT", "-H", "Authorization: Bearer " + h.key, "-H", "Content-Type: application/json", "-d", string(provider), h.url + "/v1/config/providers/local"}, &out)
			if err != nil || (code == 200) == tt.allowed {
				t.Errorf("the provider: %d %v %s", code, err, out.String())
			}
		})
	}
}
