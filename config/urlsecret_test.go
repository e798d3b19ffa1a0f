package config

import (
	"strings"
	"testing"
)

func TestDocument_RefusesSecretsInTheParametersOfAURL(t *testing.T) {
	for query, bad := range map[string]bool{"api_key=S3": true, "key=S3": true, "KEY=S3": true, "token=S3": true, "access_token=S3": true, "x=1&apikey=S3": true, "password=S3": true,
		"api-version=2024-10-21": false, "region=eu": false} {
		var m mistakes
		m.url("base_url", "https://h.example/v1?"+query)
		err := m.Err()
		if (err != nil) != bad || err != nil && strings.Contains(err.Error(), "S3") {
			t.Errorf("%s: error is %v, rejected should be %v", query, err, bad)
		}
	}
}
