package config

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// provider is the model client of one provider document. Every registry with the document
// shares it, so that a new secret also reaches the runs in progress.
type provider struct {
	doc *document
	now atomic.Pointer[account]
}

// account is a provider with particular secrets: its model client, or why there is none.
type account struct {
	number uint64 // distinguishes the accounts of this process
	model  llm.Model
	stamp  string // identifies the secrets
	err    error
}

var (
	_ llm.Model          = (*provider)(nil)
	_ llm.SchemaEnforcer = (*provider)(nil)
	_ llm.Describer      = (*provider)(nil)
)

func (p *provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	a := p.now.Load()
	if a.err != nil {
		return func(yield func(llm.Delta, error) bool) {
			yield(llm.Delta{}, &llm.Error{Kind: llm.Unauthorized, Message: fmt.Sprintf("provider %q: %v", p.doc.ID, a.err)})
		}
	}
	return a.model.Stream(ctx, req)
}

func (p *provider) SupportsSchema(model string) bool {
	a := p.now.Load()
	return a.err == nil && llm.SupportsSchema(a.model, model)
}

func (p *provider) Knowledge(model string) llm.ModelKnowledge {
	a := p.now.Load()
	if a.err != nil {
		return llm.ModelKnowledge{}
	}
	return llm.KnowledgeOf(a.model, model)
}

// Account returns the number of the current account. Circuit breakers start over with another.
func (p *provider) Account() uint64 { return p.now.Load().number }

// accounts opens providers, and finds those that registries of any version still use.
type accounts struct {
	open func(ctx context.Context, spec *awaken.ProviderSpec) (llm.Model, error) // nil opens none

	opened atomic.Uint64 // number of the last account

	mu    sync.Mutex
	inUse map[string]weak.Pointer[provider] // by id and hash
}

func (as *accounts) get(doc *document) *provider {
	as.mu.Lock()
	defer as.mu.Unlock()
	name := doc.ID + "\x00" + doc.Hash
	if p := as.inUse[name].Value(); p != nil {
		return p
	}
	if as.inUse == nil {
		as.inUse = map[string]weak.Pointer[provider]{}
	}
	p := &provider{doc: doc}
	as.inUse[name] = weak.Make(p)
	return p
}

// all returns the providers that are still in use.
func (as *accounts) all() []*provider {
	as.mu.Lock()
	defer as.mu.Unlock()
	var out []*provider
	for name, w := range as.inUse {
		if p := w.Value(); p != nil {
			out = append(out, p)
		} else {
			delete(as.inUse, name)
		}
	}
	return out
}

// provider returns the provider of a document and its account with those secrets. It opens
// an account only if there is none yet, or the last attempt failed.
func (as *accounts) provider(ctx context.Context, doc *document, sec *secrets) (*provider, *account) {
	p := as.get(doc)
	stamp := sec.stamp(doc)
	if now := p.now.Load(); now != nil && now.err == nil && now.stamp == stamp {
		return p, now
	}
	a := as.account(ctx, doc, sec)
	p.now.CompareAndSwap(nil, a)
	return p, a
}

func (as *accounts) account(ctx context.Context, doc *document, sec *secrets) *account {
	a := &account{number: as.opened.Add(1), stamp: sec.stamp(doc)}
	spec, err := sec.decode(doc)
	if err != nil {
		a.err = err
		return a
	}
	if as.open == nil {
		a.err = errors.New("no provider factory is configured")
		return a
	}
	// The client outlives the request that caused it.
	a.model, a.err = as.open(context.WithoutCancel(ctx), spec.(*awaken.ProviderSpec))
	if a.err == nil && a.model == nil {
		a.err = errors.New("the provider factory returned no model")
	}
	a.err = sec.scrub(doc, a.err)
	return a
}

// renew gives every provider, in whatever version, the current secrets.
func (as *accounts) renew(ctx context.Context, sec *secrets) {
	for _, p := range as.all() {
		if now := p.now.Load(); now != nil && now.stamp != sec.stamp(p.doc) {
			p.now.Store(as.account(ctx, p.doc, sec))
		}
	}
}
