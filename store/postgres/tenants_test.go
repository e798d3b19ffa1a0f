package postgres_test

import (
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/postgres"
)

// A tenant is listed as long as it has threads.
func TestTenants(t *testing.T) {
	db := openTables(t, &postgres.Options{Prefix: tables(t)})
	want := []string{"", "acme", "token-only"}
	for _, tenant := range want {
		for _, id := range []string{"a", "b"} {
			if err := db.Store(tenant).CreateThread(t.Context(), &awaken.Thread{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := db.Tenants(t.Context())
	if slices.Sort(got); err != nil || !slices.Equal(got, want) {
		t.Errorf("the tenants are %q, %v, want %q", got, err, want)
	}
}
