package memory

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/configstate"
	"github.com/awaken-go/awaken/eventlog/changelog"
)

// newConfig returns the configuration of a DB.
func newConfig(db *DB) config.Store {
	state := configstate.New()
	do := func(d *configstate.Delta) error {
		live := state.Head().Live
		state.Do(d)
		if now := state.Head().Live; now != live {
			db.changes.Add(changelog.Server, changelog.Change{Kind: changelog.Publication, Status: "live", ID: strconv.FormatInt(now, 10)})
		}
		return nil
	}
	return configstate.NewStore(configstate.StoreOptions{Mu: new(sync.Mutex), State: state, Do: do, Pinned: db.pinned, Now: func() time.Time { return db.Now() }})
}

// Config returns the configuration of the DB, which belongs to no tenant.
func (db *DB) Config() config.Store { return db.config }

// pinned counts unfinished runs by the publication that they are pinned to and their agent.
func (db *DB) pinned(context.Context) (out []config.Pin, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	at := map[config.Pin]int{}
	for _, s := range db.tenants {
		for _, r := range s.reader.runs {
			if r.Status == awaken.RunDone {
				continue
			}
			if number, err := strconv.ParseInt(r.ResolutionID, 10, 64); err == nil { // other ids name registries made in code
				at[config.Pin{Version: number, AgentID: r.AgentID}]++
			}
		}
	}
	for p, n := range at {
		p.Runs = n
		out = append(out, p)
	}
	return out, nil
}
