//go:build linux

package floodtest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
)

var postgresServer *testenv.Postgres

func TestMain(m *testing.M) { os.Exit(testenv.WithPostgres(m, &postgresServer)) }

// program is a running server with an agent for each dialect.
type program struct {
	*rigtest.Program
	providers map[string]*provider // by adapter
}

func start(tb testing.TB, kind string) *program {
	tb.Helper()
	p := &program{providers: map[string]*provider{}}
	var agents, models, providers []any
	for i := range dialects {
		d := &dialects[i]
		one := newProvider(d)
		server := httptest.NewServer(one)
		tb.Cleanup(server.Close)
		p.providers[d.adapter] = one
		agents = append(agents, map[string]any{"id": d.adapter, "model_id": d.adapter})
		models = append(models, map[string]any{"id": d.adapter, "provider_id": d.adapter, "upstream_model": "flood"})
		providers = append(providers, map[string]any{"id": d.adapter, "adapter": d.adapter, "base_url": server.URL + d.path, "api_key": "flood"})
	}
	data, err := json.Marshal(map[string]any{"agents": agents, "models": models, "providers": providers})
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(tb.TempDir(), "agents.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	settings := []string{"AWAKEN_OUTBOUND_ALLOW=127.0.0.0/8", "AWAKEN_SECRETS_KEY=" + strings.Repeat("01", 32)}
	if !testenv.Long() {
		settings = append(settings, "AWAKEN_LIMITS_REPLY_BYTES=4194304")
	}
	flags := append([]string{"--file", file, "--log-level", "error"}, rigtest.NewStore(tb, kind, postgresServer).Flags()...)
	p.Program = rigtest.Serve(tb, settings, flags...)
	return p
}

// watch samples the memory until stop, which returns the most that was seen.
func (p *program) watch() (stop func() float64) {
	ctx, cancel := context.WithCancel(context.Background())
	most := make(chan float64)
	go func() {
		high := p.Memory()
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-tick.C:
				high = max(high, p.Memory())
			case <-ctx.Done():
				most <- high
				return
			}
		}
	}()
	return func() float64 { cancel(); return <-most }
}

// settled returns the memory of the program once it does not shrink any more.
func (p *program) settled() float64 {
	low := p.Memory()
	for still := 0; still < 5; {
		time.Sleep(50 * time.Millisecond)
		if now := p.Memory(); now < low-0.5 {
			low, still = now, 0
		} else {
			still++
		}
	}
	return low
}

// run runs an agent, and returns what the run streamed.
func (p *program) run(ctx context.Context, agent, thread, text string) (string, error) {
	a, err := p.Send(ctx, http.MethodPost, "/v1/runs", rigtest.RunBody(agent, thread, text))
	if err != nil {
		return "", err
	}
	return a.Text, nil
}
