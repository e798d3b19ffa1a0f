package replay

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// inquiry is a request to a model in the replay.
type inquiry struct {
	step   int
	digest llm.RequestDigest // with the ids of the record
	shown  map[string]string // its parts, for people
}

// tap sees the requests of a replay.
type tap struct{ stage *stage }

// Inferred notes the first request of a step.
func (t tap) Inferred(step int, x *llm.Exchange) {
	s := t.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.parts[x.Request.Routing.RunID]
	if p == nil || p.inquiry.step == step+1 && p.inquiry.shown != nil {
		return
	}
	p.inquiry = inquiry{step + 1, x.Request.Digest(s.rename), parts(x.Request)}
}

// parts returns the parts of a request, for people.
func parts(r *llm.Request) map[string]string {
	var last *llm.Message
	if n := r.Messages.Len(); n > 0 {
		last = r.Messages.At(n - 1)
	}
	prompt, _ := json.Marshal(r.System) // they were decoded from JSON, or will be stored as JSON
	tools, _ := json.Marshal(r.Tools)
	params, _ := json.Marshal(r.Params)
	message, _ := json.Marshal(last)
	return map[string]string{"prompt": string(prompt), "tools": string(tools), "parameters": fmt.Sprintf("model %s, %s", r.Model, params),
		"messages": fmt.Sprintf("%d messages; the last is %s", r.Messages.Len(), message)}
}

// sameRequest compares the digests of what the model was asked with the record's, and returns the event with those of the record. Ids that the
// runtime drew are in texts of the request: what differs for them alone is the same. It requires the lock.
func (p *part) sameRequest(s *stage, got *awaken.InferenceComplete, want *llm.RequestDigest) awaken.Event {
	if want == nil || got.Request == nil {
		return got
	}
	r, named := got.Request, p.inquiry.digest
	p.inquiry.step = 0
	if want.Version != r.Version {
		note := fmt.Sprintf("requests of run %s: written by digest version %d, want %d", p.rec.Run.RunID, want.Version, r.Version)
		if !slices.Contains(s.uncompared, note) {
			s.uncompared = append(s.uncompared, note)
		}
		out := *got
		out.Request = want
		return &out
	}
	for _, part := range [...]struct{ name, want, got, named string }{
		{"prompt", want.Prompt, r.Prompt, named.Prompt}, {"tools", want.Tools, r.Tools, named.Tools},
		{"parameters", want.Parameters, r.Parameters, r.Parameters}, {"messages", want.Messages, r.Messages, named.Messages},
	} {
		if part.got != part.want && part.named != part.want {
			s.depart(&Difference{RunID: p.rec.Run.RunID, Event: p.pos, Where: fmt.Sprintf("the %s of the request before event %d", part.name, p.pos),
				Want: "digest " + part.want, Got: fmt.Sprintf("digest %s, %s", part.got, p.inquiry.shown[part.name])})
		}
	}
	out := *got
	out.Request = want
	return &out
}

// recordedRequest returns the digests of what the model was asked for the answer that is complete now, or nil.
func (p *part) recordedRequest() *llm.RequestDigest {
	if p.followed && p.pos < len(p.events) {
		if done, ok := p.events[p.pos].Event.(*awaken.InferenceComplete); ok {
			return done.Request
		}
		return nil
	}
	for i := range p.rec.Turns {
		if t := &p.rec.Turns[i]; t.MessageID == p.asked {
			return t.Request
		}
	}
	return nil
}
