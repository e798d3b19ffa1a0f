package postgres_test

import (
	"strings"
	"testing"

	"github.com/awaken-go/awaken/store/postgres"
)

func TestOpen_RefusesANewerSchema(t *testing.T) {
	opts := &postgres.Options{Prefix: "newer"}
	openAt(t, shared(), opts).Close()
	if _, err := witness(t).Exec(t.Context(), `INSERT INTO newer_schema VALUES (1000, '1000_future.sql', 0)`); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Open(t.Context(), shared(), opts); err == nil || !strings.Contains(err.Error(), "version 1000") {
		t.Errorf("open: %v", err)
	}
}
