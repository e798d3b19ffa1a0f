package memory_test

import (
	"testing"

	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace/body/bodytest"
)

func TestBodies(t *testing.T) {
	bodytest.Run(t, func(t *testing.T) (own, other bodytest.Store) {
		db := memory.NewDB()
		return db.Store("a"), db.Store("b")
	})
}
