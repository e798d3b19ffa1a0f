//go:build unix

package crashtest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/trace/replay/replaytest"
)

// replayed replays the run that processes have left, which the agent of a story made. Messages, calls and results are the same, and no tool is called.
// Followed says that all events are the same too: no owner of the run was lost.
func replayed(ctx context.Context, s store, j job, story func(job, world) engine.Config) (followed bool, err error) {
	w := world(filepath.Join(j.Dir, "replayed"))
	res, err := replaytest.Play(ctx, story(j, w), s, runID)
	if err != nil {
		return false, err
	}
	for mark := range w.read() {
		if !strings.HasPrefix(mark, "stepped ") { // that is a plugin's
			return false, fmt.Errorf("it made the effect %q", mark)
		}
	}
	return res.Events > 0, nil
}
