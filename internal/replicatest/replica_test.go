package replicatest

import (
	"fmt"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
)

const say = `{"agent_id":"default","thread_id":"t","messages":[{"role":"user","content":"go"}]}`

// A client that posts to one replica, and others that watch on further ones, see the first half of
// a step that cannot be committed before they have seen it.
func TestReplicas_EveryClientSeesAStepBeforeItIsCommitted(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			model := newGated()
			f := newFleet(t, 3, model, engine.join)
			if err := f.store.CreateThread(t.Context(), &awaken.Thread{ID: "t"}); err != nil {
				t.Fatal(err)
			}
			watcher := f.open(2, "/v1/threads/t/events/stream?cursor=0-0", "")
			poster := f.open(1, "/v1/runs", say)
			<-model.begun
			poster.until("the first half, ")
			watcher.until("the first half, ")
			// One that comes when half of the step is over gets it from the beginning, by every protocol.
			run := poster.head.Get("X-Run-Id")
			late := map[string]*stream{
				"raw events of the thread": f.open(1, "/v1/threads/t/events/stream?cursor=0-0", ""),
				"raw events of the run":    f.open(2, "/v1/runs/"+run+"/events/stream?cursor=0-0", ""),
				"AI SDK":                   f.open(2, "/v1/ai-sdk/chat/t/stream", ""),
			}
			for _, s := range late {
				s.until("the first half, ")
			}
			close(model.pass)
			for _, s := range []*stream{poster, watcher, late["raw events of the thread"], late["raw events of the run"]} {
				s.until("the second half")
				s.until("run_finish")
			}
			late["AI SDK"].until("the second half")
			late["AI SDK"].until("[DONE]")
		})
	}
}

func TestReplicas_AWatcherOfADelegatesThreadSeesItsStep(t *testing.T) {
	for _, engine := range engines {
		for _, replica := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, on replica %d", engine.name, replica), func(t *testing.T) {
				t.Parallel()
				model := newGated()
				f := newFleet(t, 2, model, engine.join)
				parent := f.open(1, "/v1/runs", `{"agent_id":"boss","thread_id":"t","messages":[{"role":"user","content":"go"}]}`)
				<-model.begun
				parent.until("the first half, ")
				child := f.child("t")
				watcher := f.open(replica, "/v1/threads/"+child+"/events/stream?cursor=0-0", "")
				watcher.until("the first half, ")
				close(model.pass)
				watcher.until("the second half")
				watcher.until("run_finish")
				parent.until("the boss is done")
			})
		}
	}
}

// On a replica without a bus, clients see a step when it is committed.
func TestReplicas_WithoutABusAStepIsSeenWhenItIsCommitted(t *testing.T) {
	model := newGated()
	f := newFleet(t, 2, model, nil)
	poster := f.open(1, "/v1/runs", say)
	<-model.begun
	time.AfterFunc(500*time.Millisecond, func() { close(model.pass) })
	poster.until("the first half, ")
	select {
	case <-model.pass:
	default:
		t.Error("the first half arrived before the step was committed: the other tests prove nothing")
	}
	poster.until("run_finish")
}
