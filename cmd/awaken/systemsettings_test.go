package main

import (
	"strings"
	"testing"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
)

// The settings that admins see have every setting and its source, and no secret.
func TestSettingsOf_ShowsNoSecret(t *testing.T) {
	t.Parallel()
	const planted = "hunter2hunter2-9f2c7be04d61"
	special := map[string]string{"database_url": "postgres://u:" + planted + "@db.example/d", "nats.url": "nats://u:" + planted + "@nats.example:4222"}
	var env []string
	secrets := 0
	for _, v := range settings.Defaults().Values() {
		if !v.Secret() {
			continue
		}
		value, ok := special[v.Name]
		if !ok {
			value = planted
		}
		env = append(env, v.Env+"="+value)
		secrets++
	}
	s, err := settings.Load(settings.Sources{Env: append(env, "AWAKEN_LOG_LEVEL=debug"), Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	list := settingsOf(s)
	if len(list) != len(s.Values()) || secrets < 5 {
		t.Errorf("%d of %d settings are shown, %d secrets", len(list), len(s.Values()), secrets)
	}
	hidden := 0
	for _, v := range list {
		if strings.Contains(v.Value+v.Source+v.Doc, planted) {
			t.Errorf("%s shows its value: %s", v.Name, v.Value)
		}
		if v.Secret && v.Value == "***" {
			hidden++
		}
		if v.Name == "log.level" && (v.Value != "debug" || v.Source != "AWAKEN_LOG_LEVEL") {
			t.Errorf("log.level is %+v", v)
		}
	}
	if hidden != secrets {
		t.Errorf("%d of %d secrets are hidden", hidden, secrets)
	}
}
