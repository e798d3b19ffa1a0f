package postgres_test

import (
	"testing"

	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/trace/body/bodytest"
)

func TestBodies(t *testing.T) {
	bodytest.Run(t, func(t *testing.T) (own, other bodytest.Store) {
		db := openTables(t, &postgres.Options{Prefix: tables(t)})
		return db.Store("a"), db.Store("b")
	})
}
