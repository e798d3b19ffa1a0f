package server_test

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // for database/sql

	"github.com/awaken-go/awaken/internal/testenv"
)

// The floor that the server is compared with keeps what it has answered when its process is killed, and refuses bad requests. With
// AWAKEN_LONG, PostgreSQL is tested, too.
func TestFloor_KeepsWhatItHasAnswered(t *testing.T) {
	places := map[string]string{"sqlite": filepath.Join(t.TempDir(), "floor.db")}
	if testenv.Long() {
		pg, err := testenv.StartPostgres("fsync=on", "synchronous_commit=on")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pg.Stop() })
		places["pgx"] = pg.Database()
	}
	for driver, at := range places {
		t.Run(driver, func(t *testing.T) {
			p := spawn(t, "floor", "DATABASE="+at)
			addr := p.line()
			post := func(body string) (status int, stream string) {
				t.Helper()
				resp, err := http.Post("http://"+addr+"/v1/runs", "application/json", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				data, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				return resp.StatusCode, string(data)
			}
			for _, bad := range []string{"", "{", "[]", `{"agent_id":"default"}`, `{"agent_id":"other","messages":[{"role":"user","content":"x"}]}`,
				`{"agent_id":"default","messages":[{"role":"system","content":"x"}]}`,
				`{"agent_id":"default","messages":[{"role":"user","content":"x"}]} {}`,
				`{"agent_id":"default","messages":[{"role":"user","content":"x"}],"unknown":1}`} {
				if status, _ := post(bad); status != http.StatusBadRequest {
					t.Errorf("%s: status %d, want 400", bad, status)
				}
			}
			for i := range 6 {
				status, stream := post(runBody("default", fmt.Sprint("t", i%2), fmt.Sprint("question ", i)))
				if n := strings.Count(stream, dialects[""].piece); status != 200 || n != w6Pieces || strings.Count(stream, "id: 1-") != n+2 {
					t.Fatalf("status %d, %d pieces:\n%s", status, n, stream)
				}
			}
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
			if driver == "sqlite" {
				at = "file:" + at
			}
			db, err := sql.Open(driver, at)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for query, want := range map[string]int{
				"SELECT count(*) FROM floor_threads WHERE messages = 6 AND run IS NULL":                               2,
				"SELECT count(*) FROM floor_runs WHERE status = 'done' AND finished >= created":                       6,
				"SELECT count(*) FROM floor_messages WHERE role = 'user' AND content LIKE 'question %' AND n % 2 = 1": 6,
				"SELECT count(*) FROM floor_messages WHERE role = 'assistant' AND length(content) = 640":              6,
			} {
				var n int
				if err := db.QueryRow(query).Scan(&n); err != nil || n != want {
					t.Errorf("%s: %d, %v, want %d", query, n, err, want)
				}
			}
		})
	}
}
