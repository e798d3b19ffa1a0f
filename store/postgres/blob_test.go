package postgres_test

import (
	"testing"
	"time"

	"github.com/awaken-go/awaken/blob/blobtest"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestBlobs(t *testing.T) {
	blobtest.Run(t, func(t *testing.T, now func() time.Time) blobtest.Backend {
		db := openTables(t, &postgres.Options{Prefix: tables(t), Now: now})
		return blobtest.Backend{Store: db.Store("a"), Other: db.Store("b"), Sweeper: db}
	})
}
