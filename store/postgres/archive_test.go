package postgres_test

import (
	"testing"

	"github.com/awaken-go/awaken/eval/archive/archivetest"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestArchive(t *testing.T) {
	archivetest.Test(t, func(t *testing.T) profile.Store {
		return openTables(t, &postgres.Options{Prefix: tables(t)}).Profile("t")
	})
}
