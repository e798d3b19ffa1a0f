package sqlite_test

import (
	"encoding/json"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/configtest"
	"github.com/awaken-go/awaken/store/sqlite"
)

func TestConfig(t *testing.T) {
	configtest.Test(t, func(t *testing.T) configtest.Backend {
		path := newFile(t)
		var ahead atomic.Int64
		opts := &sqlite.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}
		db, other := openAt(t, path, opts), openAt(t, path, opts)
		for _, db := range []*sqlite.DB{db, other} { // under load, two busy writers wait long for each other
			if err := db.Pragma("busy_timeout = 60000"); err != nil {
				t.Fatal(err)
			}
		}
		return configtest.Backend{
			Store: db.Config(), Other: other.Config(),
			Advance: func(d time.Duration) { ahead.Add(int64(d)) },
			Runs:    func(tenant string) awaken.Store { return db.Store(tenant) },
			Reopen: func(t *testing.T) config.Store {
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				db = openAt(t, path, opts)
				return db.Config()
			},
			Crash: func(t *testing.T) config.Store { // changes are on disk before Close
				db = openAt(t, path, opts)
				return db.Config()
			},
		}
	})
}

// A backup contains the configuration.
func TestConfig_IsPartOfABackup(t *testing.T) {
	db := open(t)
	key := config.Key{Namespace: config.Agents, ID: "a"}
	if err := db.Config().Apply(t.Context(), &config.Change{Records: []config.RecordChange{{Key: key,
		Record: &config.Record{Spec: json.RawMessage(`{}`), Meta: config.Meta{Revision: 7}}}}}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	backup, path := filepath.Join(dir, "backup.db"), filepath.Join(dir, "restored.db")
	if err := db.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Restore(t.Context(), backup, path); err != nil {
		t.Fatal(err)
	}
	if r, err := openAt(t, path, nil).Config().Record(t.Context(), key); err != nil || r.Meta.Revision != 7 {
		t.Errorf("record is %+v, %v", r, err)
	}
}
