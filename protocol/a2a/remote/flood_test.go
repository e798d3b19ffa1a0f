package remote_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

// A server that reports and adds artifacts without end fills neither the log of the thread nor the memory.
func TestLimits_ActivitiesAndArtifacts(t *testing.T) {
	event := func(w http.ResponseWriter, format string, args ...any) {
		fmt.Fprintf(w, "data: "+format+"\n\n", args...)
	}
	const status = `{"statusUpdate":{"taskId":"1","contextId":"c","status":{"state":"TASK_STATE_%s","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":%q}]}}}}`
	srv := newSimple(t)
	srv.send = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		long := strings.Repeat("x", 4<<10)
		for range 2000 {
			event(w, status, "WORKING", long)
		}
		event(w, status, "COMPLETED", "done")
	}
	s, h := newSide(t), &heard{}
	s.far("far", srv.URL, "", "")
	if res, err := s.runtime().Run(t.Context(), say("far", "a", "hi"), h); err != nil || res.Response != "done" {
		t.Fatalf("got %+v, %v", res, err)
	}
	activities, size := 0, 0
	for _, ev := range h.events {
		if a, ok := ev.(*awaken.ActivitySnapshot); ok {
			data, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			activities, size = activities+1, size+len(data)
		}
	}
	if activities < 100 || size > 5<<20 {
		t.Errorf("%d activities of %d bytes, want some, and at most about 4 MiB", activities, size)
	}
	srv.mu.Lock()
	srv.send = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 4100 {
			event(w, `{"artifactUpdate":{"taskId":"1","contextId":"c","artifact":{"artifactId":"%d","parts":[{"data":1}]}}}`, i)
		}
		event(w, status, "COMPLETED", "done")
	}
	srv.mu.Unlock()
	if res, err := s.runtime().Run(t.Context(), say("far", "b", "hi"), nil); err == nil || !strings.Contains(err.Error(), "more than 4096 artifacts") {
		t.Errorf("got %+v, %v", res, err)
	}
}
