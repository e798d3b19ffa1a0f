//go:build unix

package doubttest

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
)

// planned is a call that a client of MCP makes without a model. The client repeats its request after the server is back, and
// its user refuses to make the call again. Then a person settles it.
type planned struct {
	*lane
	talks   *mcpClient
	tool    string
	outcome awaken.Outcome // that the person finds out
}

func (l *lane) newPlanned(n int) *planned {
	tools, outcomes := []string{"pay", "charge"}, []awaken.Outcome{awaken.OutcomeMade, awaken.OutcomeNotMade}
	return &planned{l, &mcpClient{client: l.client}, tools[n%2], outcomes[n/2%2]}
}

func (p *planned) String() string {
	return fmt.Sprintf("call of %s by MCP, settled as %s", p.tool, p.outcome)
}

func (p *planned) begin(ctx context.Context) error {
	_, err := p.talks.call(ctx, p.tool, object{})
	return err
}

func (p *planned) check(ctx context.Context) (read int, err error) {
	for _, outcome := range []awaken.Outcome{awaken.OutcomeInDoubt, p.outcome} {
		if outcome != awaken.OutcomeInDoubt {
			body := object{"tool_call_id": "call_" + p.talks.run, "outcome": outcome}
			if _, err := p.post(ctx, "/v1/runs/"+p.talks.run+"/decision", body); err != nil {
				return read, err
			}
		}
		heard, err := p.talks.follow(ctx, new(false))
		if err != nil {
			return read, err
		}
		if told := known[awaken.OutcomeInDoubt].told; !told.MatchString(heard) {
			return read, fmt.Errorf("the client hears %q, want %s", heard, told)
		}
		all, err := p.texts(ctx, p.talks.thread)
		if err != nil {
			return read, err
		}
		all = append(all, heard)
		read += len(all)
		if err := check(all, outcome, "call_"+p.talks.run); err != nil {
			return read, fmt.Errorf("outcome %s: %w", outcome, err)
		}
		if err := p.ledger(ctx, p.talks.run, outcome); err != nil {
			return read, err
		}
	}
	return read, nil
}

func (p *planned) delivered(ctx context.Context) (int, error) {
	all, err := p.sent(ctx, p.talks.thread)
	if err != nil {
		return 0, err
	}
	return len(all), check(all, p.outcome, "call_"+p.talks.run)
}
