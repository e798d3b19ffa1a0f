package postgres_test

import (
	"testing"

	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eval/live/livetest"
	"github.com/awaken-go/awaken/store/postgres"
)

func TestJudgements(t *testing.T) {
	livetest.Test(t, func(t *testing.T) (live.Store, func() live.Store) {
		prefix := tables(t)
		join := func() live.Store { return openTables(t, &postgres.Options{Prefix: prefix}).Judgements() }
		return join(), join
	})
}
