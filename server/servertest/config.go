package servertest

import (
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/automation"
	"github.com/awaken-go/awaken/server/control"
	"github.com/awaken-go/awaken/server/evals"
	"github.com/awaken-go/awaken/server/figures"
	"github.com/awaken-go/awaken/server/runs"
)

// Config configures a server with all its wings.
type Config struct {
	server.Config
	Access     access.Config
	Runs       runs.Config
	Evals      *evals.Config // nil means that the server has no evaluations
	Automation automation.Config
	Figures    figures.Config
	Plane      control.Config // of the control plane, which is Control
}

// Assembly is a server and its wings.
type Assembly struct {
	*server.Server
	Runs       *runs.Wing
	Evals      *evals.Wing // nil without evaluations
	Automation *automation.Wing
	Figures    *figures.Wing
	Plane      *control.Wing
}

// Assemble returns a server with all wings.
func (c *Config) Assemble() (*Assembly, error) {
	cfg := c.Config
	a := &Assembly{Automation: automation.New(c.Automation), Plane: control.New(c.Plane)}
	served, counted := c.Runs, c.Figures
	if c.Evals != nil {
		judged := *c.Evals
		judged.Observer = c.Observer
		a.Evals = evals.New(judged)
		cfg.Wings = append(cfg.Wings, a.Evals)
		served.Live, counted.Ended = c.Evals.Live, a.Evals.Offer
	}
	a.Runs, a.Figures = runs.New(served), figures.New(counted)
	cfg.Wings = append(cfg.Wings, access.New(c.Access), a.Runs, a.Automation, a.Figures, a.Plane)
	var err error
	a.Server, err = server.New(cfg)
	return a, err
}
