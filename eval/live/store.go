package live

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// Store stores the judgements of all tenants. Implementations are safe for concurrent use; package eval/live/livetest tests them.
type Store interface {
	// Judgements returns the judgements that q selects, ordered by due time if q.Due is set, otherwise by the creation time of their runs,
	// newest first.
	Judgements(ctx context.Context, q Query) ([]*Judgement, error)
	// SwapJudgement stores j under the next revision if the stored revision is j.Revision (0 if there is none). It reports whether it did;
	// if not, another process changed the judgement first.
	SwapJudgement(ctx context.Context, j *Judgement) (bool, error)
	// ForgetJudgements deletes the judgements with a negative Wait whose runs were created before the given time, Unix ms.
	ForgetJudgements(ctx context.Context, before int64) error
}

// Query selects judgements: all tenants' due judgements, or the judgements of one tenant. An empty field does not restrict the selection.
type Query struct {
	Due    bool
	Tenant string // unless Due

	RunIDs   []string // only of these runs; nil means all
	AgentID  string
	Version  string
	Status   Status
	MinScore *float64 // only with a score of at least this
	MaxScore *float64 // only with a score below this
	Since    int64    // only of runs that were created at this time or later, Unix ms
	Until    int64    // only of runs that were created before, Unix ms
	// After is the place of the last judgement of the previous page.
	After *Place
	Limit int // 0 means all
}

// Place is the position of a judgement in a list.
type Place struct {
	CreatedAt int64  `json:"at"`
	RunID     string `json:"run"`
}

// Place returns the position of the judgement in lists.
func (j *Judgement) Place() Place { return Place{j.CreatedAt, j.RunID} }

// selects reports whether a judgement of the tenant is selected.
func (q *Query) selects(j *Judgement) bool {
	low := func(min *float64) bool { return min == nil || j.Score != nil && *j.Score >= *min }
	high := func(max *float64) bool { return max == nil || j.Score != nil && *j.Score < *max }
	return j.Tenant == q.Tenant && (q.RunIDs == nil || slices.Contains(q.RunIDs, j.RunID)) && (q.AgentID == "" || q.AgentID == j.AgentID) && (q.Version == "" || q.Version == j.Version) &&
		(q.Status == "" || q.Status == j.Status) && low(q.MinScore) && high(q.MaxScore) && j.CreatedAt >= q.Since && (q.Until == 0 || j.CreatedAt < q.Until) &&
		(q.After == nil || newer(*q.After, j.Place()) < 0)
}

// newer compares places in a list.
func newer(a, b Place) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(b.RunID, a.RunID))
}

// Memory is a [Store] in memory.
type Memory struct {
	mu  sync.Mutex
	all map[[2]string]*kept // tenant, run
}

type kept struct {
	data      []byte // a Judgement as JSON, so that no caller shares it
	judgement Judgement
	stored    time.Time
}

func (k *kept) due() (at time.Time, ok bool) {
	return k.stored.Add(k.judgement.Wait), k.judgement.Wait >= 0
}

// copy returns the judgement.
func (k *kept) copy() (*Judgement, error) {
	j := &Judgement{Tenant: k.judgement.Tenant, Revision: k.judgement.Revision, Wait: k.judgement.Wait}
	return j, json.Unmarshal(k.data, j)
}

// Judgements implements [Store].
func (m *Memory) Judgements(_ context.Context, q Query) (out []*Judgement, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []*kept
	for _, k := range m.all {
		at, ok := k.due()
		if q.Due && ok && !at.After(time.Now()) || !q.Due && q.selects(&k.judgement) {
			found = append(found, k)
		}
	}
	slices.SortFunc(found, func(a, b *kept) int {
		if q.Due {
			x, _ := a.due()
			y, _ := b.due()
			return cmp.Or(x.Compare(y), strings.Compare(a.judgement.RunID, b.judgement.RunID))
		}
		return newer(a.judgement.Place(), b.judgement.Place())
	})
	for _, k := range found {
		if q.Limit > 0 && len(out) == q.Limit {
			break
		}
		j, err := k.copy()
		if err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	return out, nil
}

// SwapJudgement implements [Store].
func (m *Memory) SwapJudgement(_ context.Context, j *Judgement) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]string{j.Tenant, j.RunID}
	if old := m.all[key]; old == nil && j.Revision != 0 || old != nil && old.judgement.Revision != j.Revision {
		return false, nil
	}
	data, err := json.Marshal(j)
	if err != nil {
		return false, err
	}
	k := &kept{data: data, judgement: Judgement{Tenant: j.Tenant, Revision: j.Revision + 1, Wait: j.Wait}, stored: time.Now()}
	if err := json.Unmarshal(data, &k.judgement); err != nil {
		return false, err
	}
	if m.all == nil {
		m.all = map[[2]string]*kept{}
	}
	m.all[key] = k
	return true, nil
}

// ForgetJudgements implements [Store].
func (m *Memory) ForgetJudgements(_ context.Context, before int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, k := range m.all {
		if k.judgement.Wait < 0 && k.judgement.CreatedAt < before {
			delete(m.all, key)
		}
	}
	return nil
}
