package profile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/state/profile"
)

// fakeStore keeps entries in a map. If err is set, its methods return it.
type fakeStore struct {
	err error

	mu      sync.Mutex
	entries map[[2]string]json.RawMessage // namespace and key -> value
}

func (s *fakeStore) Get(_ context.Context, namespace, key string) (*profile.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.entries[[2]string{namespace, key}]
	if s.err != nil || !ok {
		return nil, s.err
	}
	return &profile.Entry{Namespace: namespace, Key: key, Value: value}, nil
}

func (s *fakeStore) Set(_ context.Context, namespace, key string, value json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries = make(map[[2]string]json.RawMessage)
	}
	if s.err == nil {
		s.entries[[2]string{namespace, key}] = value
	}
	return s.err
}

func (s *fakeStore) CompareAndSet(ctx context.Context, namespace, key string, old, value json.RawMessage) (bool, error) {
	s.mu.Lock()
	now, ok := s.entries[[2]string{namespace, key}]
	s.mu.Unlock()
	if s.err != nil || ok != (old != nil) || !bytes.Equal(now, old) {
		return false, s.err
	}
	if value == nil {
		return true, s.Delete(ctx, namespace, key)
	}
	return true, s.Set(ctx, namespace, key, value)
}

func (s *fakeStore) Delete(_ context.Context, namespace, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries, [2]string{namespace, key})
	return s.err
}

func (s *fakeStore) List(_ context.Context, namespace string) ([]profile.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []profile.Entry
	for at, value := range s.entries {
		if at[0] == namespace {
			out = append(out, profile.Entry{Namespace: namespace, Key: at[1], Value: value})
		}
	}
	slices.SortFunc(out, func(a, b profile.Entry) int { return strings.Compare(a.Key, b.Key) })
	return out, s.err
}

func (s *fakeStore) Page(context.Context, string, profile.Page) ([]profile.Entry, error) {
	return nil, s.err
}

func (s *fakeStore) Clear(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.entries, func(at [2]string, _ json.RawMessage) bool { return at[1] == key })
	return s.err
}

func (s *fakeStore) Marked(json.RawMessage) profile.Store { return s }

var _ profile.Store = (*fakeStore)(nil)

type settings struct {
	Locale string   `json:"locale"`
	Topics []string `json:"topics,omitempty"`
}

var (
	locale = profile.NewKey[string]("locale")
	prefs  = profile.NewKey[settings]("prefs")
)

func TestKey_ReadsWhatItWrote(t *testing.T) {
	t.Parallel()
	s := new(fakeStore)
	want := settings{Locale: "en-GB", Topics: []string{"go"}}
	if err := prefs.Write(t.Context(), s, "user::alice", want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"locale":"en-GB","topics":["go"]}`, string(s.entries[[2]string{"prefs", "user::alice"}])); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	got, err := prefs.Read(t.Context(), s, "user::alice")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestKey_ReadsTheZeroValueIfThereIsNoEntry(t *testing.T) {
	t.Parallel()
	s := new(fakeStore)
	read := func(k profile.Key[string], key string) string {
		t.Helper()
		v, err := k.Read(t.Context(), s, key)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if got := read(locale, profile.Global); got != "" {
		t.Errorf("an entry never written is %q", got)
	}
	if err := locale.Write(t.Context(), s, profile.Global, "fr"); err != nil {
		t.Fatal(err)
	}
	if got := read(locale, "user::bob"); got != "" {
		t.Errorf("the entry of another entity is %q", got)
	}
	if got := read(profile.NewKey[string]("other"), profile.Global); got != "" {
		t.Errorf("the entry of another namespace is %q", got)
	}
	if err := locale.Delete(t.Context(), s, profile.Global); err != nil {
		t.Fatal(err)
	}
	if got := read(locale, profile.Global); got != "" {
		t.Errorf("a deleted entry is %q", got)
	}
}

func TestKey_NamesTheInvalidEntry(t *testing.T) {
	t.Parallel()
	s := new(fakeStore)
	if err := s.Set(t.Context(), "prefs", "user::alice", json.RawMessage(`{"locale":1}`)); err != nil {
		t.Fatal(err)
	}
	got, err := prefs.Read(t.Context(), s, "user::alice")
	if err == nil || !strings.HasPrefix(err.Error(), "profile prefs of user::alice: ") {
		t.Errorf("error is %v", err)
	}
	if diff := cmp.Diff(settings{}, got); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
	bad := profile.NewKey[chan int]("bad")
	if err := bad.Write(t.Context(), s, "x", make(chan int)); err == nil || !strings.HasPrefix(err.Error(), "profile bad of x: ") {
		t.Errorf("error is %v", err)
	}
}

func TestKey_ReturnsTheStoresError(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	s := &fakeStore{err: broken}
	_, readErr := locale.Read(t.Context(), s, "x")
	for name, err := range map[string]error{
		"Read":   readErr,
		"Write":  locale.Write(t.Context(), s, "x", "en"),
		"Delete": locale.Delete(t.Context(), s, "x"),
	} {
		if !errors.Is(err, broken) {
			t.Errorf("%s: error is %v, want %v", name, err, broken)
		}
	}
}

func TestScopes_AreKeys(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		profile.Global:              "global",
		profile.ParentThread("t1"):  "parent_thread::t1",
		profile.AgentType("travel"): "agent_type::travel",
		profile.Thread("t1"):        "thread::t1",
		locale.Namespace():          "locale",
	} {
		if got != want {
			t.Errorf("key is %q, want %q", got, want)
		}
	}
}

func TestNewKey_PanicsWithoutANamespace(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("it did not panic")
		}
	}()
	profile.NewKey[int]("")
}

func TestEntryJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	data, err := json.Marshal(profile.Entry{Namespace: "locale", Key: "global", Value: json.RawMessage(`"en"`), UpdatedAt: at})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"namespace":"locale","key":"global","value":"en","updated_at":"2026-01-02T03:04:05Z"}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("encoded (-want +got):\n%s", diff)
	}
}
