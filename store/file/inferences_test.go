package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/trace/body"
	"github.com/awaken-go/awaken/trace/body/bodytest"
)

func TestBodies(t *testing.T) {
	bodytest.Run(t, func(t *testing.T) (own, other bodytest.Store) { return open(t, t.TempDir(), nil), nil })
}

// A line that a dying process left half written costs that body, and none after it.
func TestBodies_SurviveATornLine(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, nil)
	if err := s.CreateThread(t.Context(), &awaken.Thread{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	add := func(id string) {
		t.Helper()
		if _, err := s.Bodies().AddBodies(t.Context(), []body.Stored{{ThreadID: "a", RunID: "r", ID: id, Data: []byte(id)}}); err != nil {
			t.Fatal(err)
		}
	}
	add("1")
	f, err := os.OpenFile(filepath.Join(dir, "inferences", "a.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"run_id":"r","id":"2","da`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	add("3")
	list, err := s.Bodies().Bodies(t.Context(), "a", "r")
	if err != nil || len(list) != 2 || list[0].ID != "1" || list[1].ID != "3" {
		t.Errorf("bodies are %v, %v", list, err)
	}
}
