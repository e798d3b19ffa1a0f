package live_test

import (
	"testing"

	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eval/live/livetest"
)

func TestMemory(t *testing.T) {
	livetest.Test(t, func(t *testing.T) (live.Store, func() live.Store) { return new(live.Memory), nil })
}
