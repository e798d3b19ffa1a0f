package server_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/server/servertest"
)

// Several tabs of a browser send to one thread at the same moment. Each message ends the answer in
// progress, and all of them stay in the thread. A client whose message was not answered learns why.
func TestProtocols_NoMessageIsLostWhenTabsSendAtOnce(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/ai-sdk/chat": `{"id":"%[1]s","agentId":"default","messages":[{"id":"m%[2]d","role":"user","content":"message %[2]d"}]}`,
		"/v1/ag-ui/run":   `{"threadId":"%[1]s","runId":"%[1]s-r%[2]d","agentId":"default","messages":[{"id":"m%[2]d","role":"user","content":"message %[2]d"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`,
	} {
		t.Run(strings.Trim(path, "/"), func(t *testing.T) {
			g := newRig(t, func(c *servertest.Config) { c.Routes = slices.Concat(aisdk.Routes(), agui.Routes()) })
			for round := range 6 {
				thread := fmt.Sprint("t", round)
				var wg sync.WaitGroup
				for i := range 3 {
					wg.Go(func() {
						status, text := g.ask("POST", path, fmt.Sprintf(body, thread, i))
						if status != 200 {
							t.Errorf("message %d: %d, %s", i, status, text)
						}
						begun := strings.Contains(text, `"start-step"`) || strings.Contains(text, `"STEP_STARTED"`)
						if !begun && !strings.Contains(text, protocol.NotBegun) {
							t.Errorf("message %d has neither an answer nor an error: %s", i, text)
						}
					})
				}
				wg.Wait()
				var said string
				for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
					_, said = g.ask("GET", "/v1/threads/"+thread+"/messages", "")
					n := 0
					for i := range 3 {
						n += min(1, strings.Count(said, fmt.Sprint("message ", i)))
					}
					if n == 3 {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("the thread lost a message: %s", said)
					}
				}
			}
		})
	}
}
