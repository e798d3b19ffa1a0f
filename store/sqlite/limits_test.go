package sqlite_test

import (
	"testing"

	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/limit/limittest"
)

func TestLimits(t *testing.T) {
	limittest.Test(t, func(t *testing.T) (limit.Store, func() limit.Store) {
		path := newFile(t)
		return openAt(t, path, nil).Limits(), func() limit.Store { return openAt(t, path, nil).Limits() }
	})
}
