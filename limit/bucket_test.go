package limit

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/awaken-go/awaken/llm"
)

// TestBucket_NeverGrantsMoreThanTheLimit visits a bucket in any order, with any needs, returns and
// corrections: what was granted and not given back never exceeds a full bucket and what the time has added.
func TestBucket_NeverGrantsMoreThanTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const perMinute = 600.0
		var b bucket
		now, out := int64(1_000_000), 0.0
		began := now
		held := map[string]float64{}
		for range rapid.IntRange(1, 60).Draw(t, "visits") {
			now += rapid.Int64Range(0, 5000).Draw(t, "ms")
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "process")
			used := math.Floor(rapid.Float64Range(0, held[id]).Draw(t, "used"))
			back := math.Floor(rapid.Float64Range(0, held[id]-used).Draw(t, "back"))
			held[id] -= used + back
			out -= back
			v := visit{configured: amount{Requests: perMinute}, settle: amount{Requests: back}, held: amount{Requests: held[id]},
				want: amount{Requests: rapid.Float64Range(0, 30).Draw(t, "want")}}
			for range rapid.IntRange(0, 3).Draw(t, "demands") {
				class := rapid.IntRange(0, 1).Draw(t, "class")
				v.add(rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "tenant"), class, amount{Requests: float64(rapid.IntRange(1, 400).Draw(t, "need"))})
				v.head[class] = amount{Requests: 1}
			}
			o := b.visited(now, id, &v)
			if o.granted.Requests < 0 || o.granted.Requests != math.Floor(o.granted.Requests) {
				t.Fatalf("granted %v", o.granted)
			}
			held[id] += o.granted.Requests
			out += o.granted.Requests
			if most := perMinute + perMinute*float64(now-began)/60_000; out > most+1e-6 {
				t.Fatalf("%v were granted in %d ms, at most %v are there", out, now-began, most)
			}
			data, err := json.Marshal(&b)
			if err != nil {
				t.Fatal(err)
			}
			b = bucket{}
			if err := json.Unmarshal(data, &b); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestBucket_UsersOnOtherReplicasComeFirst(t *testing.T) {
	var b bucket
	v := func(class int, n float64) *visit {
		v := &visit{configured: amount{Requests: 60}}
		if n > 0 {
			v.add("", class, amount{Requests: n})
			v.head[class] = amount{Requests: 1}
		}
		return v
	}
	now := int64(1_000_000)
	b.visited(now, "a", v(background, 60)) // takes all
	if got := b.visited(now, "b", v(interactive, 5)).granted; got != (amount{}) {
		t.Fatalf("an empty bucket granted %v", got)
	}
	now += 2000
	if got := b.visited(now, "a", v(background, 60)).granted; got != (amount{}) {
		t.Errorf("the background got %v of 2 while a user needs 5 elsewhere", got)
	}
	if got := b.visited(now, "b", v(interactive, 5)).granted.Requests; got != 2 {
		t.Errorf("the user got %v of 2", got)
	}
	now += 3000
	b.visited(now, "b", v(interactive, 0)) // satisfied meanwhile
	if got := b.visited(now, "a", v(background, 60)).granted.Requests; got != 3 {
		t.Errorf("the background got %v of 3 that no user needs", got)
	}
}

func TestBucket_FairParts(t *testing.T) {
	parts, sum := fairParts(10, map[string]float64{"a": 1, "b": 100, "c": 100})
	if sum != 10 || parts["a"] != 1 || parts["b"] != 4.5 || parts["c"] != 4.5 {
		t.Errorf("parts of 10 are %v", parts)
	}
	if parts, sum = fairParts(10, map[string]float64{"a": 1, "b": 2}); sum != 3 || parts["b"] != 2 {
		t.Errorf("parts of 10 for 3 are %v", parts)
	}
}

func TestMeter_ALimitThatTakesADayIsNotOnePerMinute(t *testing.T) {
	var m meter
	m.learn(1_000_000, llm.RateState{Limit: 14_400, Remaining: 14_370, Reset: 3 * time.Minute})
	if got := m.perMinute(1_000_000); math.Abs(got-10) > 0.01 {
		t.Errorf("14,400 of which 30 take 3 minutes are %v a minute, want 10", got)
	}
	if got := m.capacity(1_000_000); got != 14_400 {
		t.Errorf("its capacity is %v", got)
	}
	m.learn(1_000_000, llm.RateState{Limit: 600, Remaining: 599, Reset: time.Second}) // rounded up
	if got := m.perMinute(1_000_000); got != 600 {
		t.Errorf("600 of which 1 takes up to a second are %v a minute", got)
	}
}

// A store whose clock was wrong for a while, and is set right, does not prolong a pause and what was learned.
func TestBucket_AClockThatIsSetBackProlongsNothing(t *testing.T) {
	const year = int64(365 * 24 * 3_600_000)
	now := 2 * year
	b := bucket{Strikes: strikes - 1, Refused: now}
	limited := &visit{configured: amount{Requests: 600}, served: 60, refusal: &refusal{retryAfter: 10 * time.Second}}
	if o := b.visited(now, "a", limited); o.paused != 10*time.Second || !o.learned {
		t.Fatalf("%+v", o)
	}
	now -= year
	v := func() *visit {
		return &visit{configured: amount{Requests: 600}, demand: []demand{{Need: [classes]amount{{Requests: 1}}}}, head: [classes]amount{{Requests: 1}}}
	}
	if o := b.visited(now, "b", v()); o.paused != 10*time.Second || o.limits.Requests < 40 || len(b.Claims) != 2 {
		t.Fatalf("after the clock was set back: %+v, %d processes", o, len(b.Claims))
	}
	now += 20_000
	if o := b.visited(now, "b", v()); o.paused != 0 || o.granted.Requests < 1 || len(b.Claims) != 1 {
		t.Errorf("20 s later: %+v, %d processes", o, len(b.Claims))
	}
}

// A request that is cancelled when its turn comes takes nothing, also if it is larger than the bucket or
// the limit is below one a minute.
func TestAccount_WhatIsReleasedIsAllThatWasTaken(t *testing.T) {
	now := time.Now()
	for _, l := range []amount{{0.1, 0}, {600, 0}, {0, 1000}, {0.1, 1000}} {
		s := &scope{current: true, limits: l, capacity: amount{100, 1000}, held: amount{1, 1000}}
		w := &waiter{tokens: 50_000, scopes: []*scope{s}}
		s.take(w.tokens, now)
		(&account{}).release(w)
		if want := (amount{1, 1000}); s.held != want || s.inFlight != 0 {
			t.Errorf("with the limit %v: %v are held after a release, %v before", l, s.held, want)
		}
	}
}
