package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/awaken-go/awaken/eval/live"
)

// Judgements implements [live.Store] for all tenants.
type Judgements struct{ db DB }

var _ live.Store = (*Judgements)(nil)

// Judgements returns judgements.
func (s *Judgements) Judgements(ctx context.Context, q live.Query) ([]*live.Judgement, error) {
	d := s.db.Dialect()
	query, args, order := `due <= {clock}`, []any(nil), `due, run {bytes}`
	if !q.Due {
		query, args, order = `tenant = ?`, []any{d.escape(q.Tenant)}, `born DESC, run {bytes} DESC`
		where := func(condition string, values ...any) { query, args = query+` AND `+condition, append(args, values...) }
		if q.RunIDs != nil {
			ids := make([]string, len(q.RunIDs))
			for i, id := range q.RunIDs {
				ids[i] = d.escape(id)
			}
			where(`run IN (SELECT j.value FROM {texts})`, ids)
		}
		for _, f := range [][2]string{{"agent", d.escape(q.AgentID)}, {"version", d.escape(q.Version)}, {"status", string(q.Status)}} {
			if f[1] != "" {
				where(f[0]+` = ?`, f[1])
			}
		}
		if q.MinScore != nil {
			where(`score >= ?`, *q.MinScore)
		}
		if q.MaxScore != nil {
			where(`score < ?`, *q.MaxScore)
		}
		if q.Since > 0 {
			where(`born >= ?`, q.Since)
		}
		if q.Until > 0 {
			where(`born < ?`, q.Until)
		}
		if p := q.After; p != nil {
			where(`born <= ?`, p.CreatedAt)
			where(`(born < ? OR run {bytes} < ?)`, p.CreatedAt, d.escape(p.RunID))
		}
	}
	query = `SELECT tenant, run, revision, coalesce(due - {clock}, -1), born, agent, version, status, coalesce(score, -1), data FROM {p}_judgements WHERE ` + query + ` ORDER BY ` + order
	if q.Limit > 0 {
		query, args = query+` LIMIT ?`, append(args, q.Limit)
	}
	return list(ctx, s.db, "judgements", query, args, func(scan Scan) (*live.Judgement, error) {
		j := new(live.Judgement)
		var wait int64
		var score float64
		var data []byte
		if err := scan(&j.Tenant, &j.RunID, &j.Revision, &wait, &j.CreatedAt, &j.AgentID, &j.Version, (*string)(&j.Status), &score, &data); err != nil {
			return nil, err
		}
		d.unescape(&j.Tenant, &j.RunID, &j.AgentID, &j.Version)
		if j.Wait = time.Duration(wait) * time.Millisecond; q.Due {
			j.Wait = 0
		}
		if score >= 0 {
			j.Score = &score
		}
		return j, json.Unmarshal(data, &j.State)
	})
}

// SwapJudgement stores a judgement if its revision is still the stored one.
func (s *Judgements) SwapJudgement(ctx context.Context, j *live.Judgement) (bool, error) {
	d := s.db.Dialect()
	data, err := d.Encode(j.State)
	if err != nil {
		return false, fmt.Errorf("judgement of run %s: %w", j.RunID, err)
	}
	wait := int64(-1)
	if j.Wait >= 0 {
		wait = j.Wait.Milliseconds()
	}
	var score any // NULL
	if j.Score != nil {
		score = *j.Score
	}
	args := []any{d.escape(j.Tenant), d.escape(j.RunID), wait, j.CreatedAt, d.escape(j.AgentID), d.escape(j.Version), string(j.Status), score, data}
	const due = `CASE WHEN CAST(?3 AS bigint) >= 0 THEN {clock} + CAST(?3 AS bigint) END`
	query := `INSERT INTO {p}_judgements (tenant, run, revision, due, born, agent, version, status, score, data) VALUES (?1, ?2, 1, ` + due + `, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (tenant, run) DO NOTHING`
	if j.Revision != 0 {
		query = `UPDATE {p}_judgements SET revision = revision + 1, due = ` + due + `, born = ?4, agent = ?5, version = ?6, status = ?7, score = ?8, data = ?9 WHERE tenant = ?1 AND run = ?2 AND revision = ?10`
		args = append(args, j.Revision)
	}
	n, err := s.db.ExecOnce(ctx, query, args...)
	if err != nil {
		return false, fmt.Errorf("judgement of run %s: %w", j.RunID, err)
	}
	return n == 1, nil
}

// ForgetJudgements removes old judgements that rest for good.
func (s *Judgements) ForgetJudgements(ctx context.Context, before int64) error {
	if _, err := s.db.Exec(ctx, `DELETE FROM {p}_judgements WHERE due IS NULL AND born < ?`, before); err != nil {
		return fmt.Errorf("judgements: %w", err)
	}
	return nil
}
