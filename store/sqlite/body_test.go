package sqlite_test

import (
	"testing"

	"github.com/awaken-go/awaken/trace/body/bodytest"
)

func TestBodies(t *testing.T) {
	bodytest.Run(t, func(t *testing.T) (own, other bodytest.Store) {
		db := openAt(t, newFile(t), nil)
		return db.Store("a"), db.Store("b")
	})
}
