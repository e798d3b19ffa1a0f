package postgres_test

import (
	"testing"

	"github.com/awaken-go/awaken/server/healthtest"
)

func TestHealth_SaysWhyTheDatabaseIsUnavailableUntilItIsBack(t *testing.T) {
	o := newOperated(t, "health")
	s := healthtest.Serve(t, openAt(t, o.url, nil))
	for _, test := range outages {
		t.Run(test.name, func(t *testing.T) {
			o.exec("ALTER ROLE " + o.role + " " + test.begin)
			o.dropConnections()
			s.Unavailable(test.reason)
			o.exec("ALTER ROLE " + o.role + " " + test.end)
			o.dropConnections()
			s.Healthy()
		})
	}
}

// A full disk fails the writes that need new pages, and a probe that needs none does not notice.
func TestHealth_SaysThatTheDiskIsFullUntilItHasSpace(t *testing.T) {
	o := newOperated(t, "health_full")
	s := healthtest.Serve(t, openAt(t, o.url, nil))
	o.exec(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$`)
	for _, table := range []string{"awaken_dispatches", "awaken_inbox", "awaken_schema"} {
		o.exec(`CREATE TRIGGER full_disk BEFORE INSERT ON ` + table + ` FOR EACH ROW EXECUTE FUNCTION full_disk()`)
	}
	s.Unavailable("the store is out of disk space")
	s.Unavailable("the store is out of disk space")
	o.exec(`DROP FUNCTION full_disk CASCADE`)
	s.Healthy()
	if n := number(t, o.admin, `SELECT count(*) FROM awaken_schema WHERE version = 0`); n != 0 {
		t.Errorf("probes left %d rows", n)
	}
}
