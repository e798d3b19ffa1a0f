package server_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
)

// chatter is a tool that reports progress for half a minute.
func chatter() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "chatter", Effect: awaken.ReadOnly}, func(ctx context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
		for range 600 {
			select {
			case <-time.After(50 * time.Millisecond):
				c.Progress(awaken.Progress{Message: "still here"})
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		return "done", nil
	})
}

// Another process revokes the key of a stream that is busy, of one that is idle, of one in a
// protocol's own words and of a request that waits for its run: each ends within five seconds.
func TestStream_EndsWithinFiveSecondsOfItsKeysRevocation(t *testing.T) {
	t.Parallel()
	store := memory.NewProfile()
	g := &rig{t: t, db: memory.NewDB(), keys: access.NewKeys(store), config: func(c *registry.Config) { c.Tools = append(c.Tools, chatter()) }}
	if err := g.keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		t.Fatal(err)
	}
	g.start(func(c *servertest.Config) { c.Open, c.Routes = new(false), aisdkRoutes() })
	thread, _ := g.done(admin...)
	made := g.want(201, "POST", "/v1/keys", `{"kind":"run"}`, admin...)
	key := []string{"Authorization", "Bearer " + made["secret"].(string)}
	type end struct {
		name, text string
		at         time.Time
	}
	ends := make(chan end)
	bodies := map[string]string{
		"busy":    runBody("default", "busy", "RUN_TOOL chatter {}"),
		"waiting": strings.Replace(runBody("default", "waiting", "RUN_TOOL chatter {}"), "{", `{"stream":false,`, 1),
		"ai-sdk":  `{"id":"chat","messages":[{"id":"u","role":"user","parts":[{"type":"text","text":"RUN_TOOL chatter {}"}]}]}`,
		"idle":    "",
	}
	for name, body := range bodies {
		method, path := "POST", "/v1/runs"
		switch name {
		case "idle":
			method, path = "GET", "/v1/threads/"+thread+"/events/stream"
		case "ai-sdk":
			path = "/v1/ai-sdk/chat"
		}
		go func() {
			resp := g.do(method, path, body, key...)
			text, _ := io.ReadAll(resp.Body) // the connection may be cut off
			resp.Body.Close()
			ends <- end{name, string(text), time.Now()}
		}()
	}
	for g.want(200, "GET", "/v1/runs?status=running", "", admin...)["total"].(float64) < 3 {
		time.Sleep(20 * time.Millisecond)
	}
	start := time.Now()
	if err := access.NewKeys(store).Revoke(t.Context(), made["id"].(string), nil); err != nil {
		t.Fatal(err)
	}
	for range bodies {
		select {
		case e := <-ends:
			if took := e.at.Sub(start); took > 5*time.Second || took < 0 {
				t.Errorf("%s: ended after %v, want 5s at most", e.name, took)
			}
			if !strings.Contains(e.text, "the key was revoked") {
				t.Errorf("%s: the end does not say why: %.500s", e.name, e.text[max(0, len(e.text)-500):])
			}
		case <-time.After(8 * time.Second):
			t.Fatal("a stream did not end")
		}
	}
}
