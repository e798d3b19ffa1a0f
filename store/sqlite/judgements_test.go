package sqlite_test

import (
	"testing"

	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eval/live/livetest"
)

func TestJudgements(t *testing.T) {
	livetest.Test(t, func(t *testing.T) (live.Store, func() live.Store) {
		path := newFile(t)
		return openAt(t, path, nil).Judgements(), func() live.Store { return openAt(t, path, nil).Judgements() }
	})
}
