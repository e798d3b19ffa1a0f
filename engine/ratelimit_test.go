package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

func TestRun_ThatWaitsForARateLimitSaysSoAndCanBeCancelled(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		l := limit.New(limit.Config{})
		defer l.Close()
		l.Set("p", &llm.RateLimits{Rate: llm.Rate{RequestsPerMinute: 1}})
		rt, err := engine.New(engine.Config{
			Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
			Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "upstream"}},
			Providers: map[string]llm.Model{"p": l.Model("p", llmtest.NewScript(llmtest.Say("one"), llmtest.Say("two"), llmtest.Say("three")))},
		})
		if err != nil {
			t.Fatal(err)
		}
		var shown []string
		run := func(ctx context.Context) (*awaken.RunResult, time.Duration) {
			began := time.Now()
			res, err := rt.Run(ctx, awaken.RunRequest{AgentID: "default", Messages: []*llm.Message{llm.UserText("hi")}}, awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
				if ev, ok := e.Event.(*awaken.ActivitySnapshot); ok {
					shown = append(shown, ev.ActivityType+" "+string(ev.Content))
				}
				return nil
			}))
			if res == nil {
				t.Fatal(err)
			}
			return res, time.Since(began)
		}
		if res, took := run(t.Context()); res.Termination.Type != awaken.NaturalEnd || took > time.Second || len(shown) > 0 {
			t.Fatalf("the first run took %s: %+v, %v", took, res.Termination, shown)
		}
		res, took := run(t.Context())
		if want := `rate_limit {"model":"upstream","paused":false,"provider":"p"}`; res.Termination.Type != awaken.NaturalEnd || took < 55*time.Second || len(shown) != 1 || shown[0] != want {
			t.Errorf("the second run took %s: %+v, shown %v, want %s", took, res.Termination, shown, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if res, took := run(ctx); res.Termination.Type != awaken.Cancelled || took > 11*time.Second {
			t.Errorf("the cancelled run took %s: %+v", took, res.Termination)
		}
	})
}
