package postgres_test

import (
	"testing"

	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/limit/limittest"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestLimits(t *testing.T) {
	limittest.Test(t, func(t *testing.T) (limit.Store, func() limit.Store) {
		prefix := tables(t)
		join := func() limit.Store {
			return openTables(t, &postgres.Options{Prefix: prefix}).Limits()
		}
		return join(), join
	})
}
