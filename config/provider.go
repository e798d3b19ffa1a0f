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

// provider is the models of one document. Every registry that has the document has the
// same provider, so that a secret that is replaced is replaced in runs that are going on,
// too.
type provider struct {
	doc *document
	now atomic.Pointer[account]
}

// account is a provider with certain secrets: its models, or why there are none.
type account struct {
	model llm.Model
	stamp string // of the secrets
	err   error
}

var (
	_ llm.Model  = (*provider)(nil)
	_ llm.Former = (*provider)(nil)
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

func (p *provider) Forms(model string) bool {
	a := p.now.Load()
	return a.err == nil && llm.Forms(a.model, model)
}

// accounts makes providers, and finds those that registries of any version hold.
type accounts struct {
	open func(ctx context.Context, spec *awaken.ProviderSpec) (llm.Model, error) // nil makes none

	mu   sync.Mutex
	held map[string]weak.Pointer[provider] // by id and hash
}

func (as *accounts) get(doc *document) *provider {
	as.mu.Lock()
	defer as.mu.Unlock()
	name := doc.ID + "\x00" + doc.Hash
	if p := as.held[name].Value(); p != nil {
		return p
	}
	if as.held == nil {
		as.held = map[string]weak.Pointer[provider]{}
	}
	p := &provider{doc: doc}
	as.held[name] = weak.Make(p)
	return p
}

// all returns those that are still held.
func (as *accounts) all() []*provider {
	as.mu.Lock()
	defer as.mu.Unlock()
	var out []*provider
	for name, w := range as.held {
		if p := w.Value(); p != nil {
			out = append(out, p)
		} else {
			delete(as.held, name)
		}
	}
	return out
}

// provider returns the provider of a document, and the account that it has with those
// secrets. It is made only if it is not there, or was a failure.
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
	a := &account{stamp: sec.stamp(doc)}
	spec, err := sec.decode(doc)
	if err != nil {
		a.err = err
		return a
	}
	if as.open == nil {
		a.err = errors.New("no provider factory configured")
		return a
	}
	// Who asks may be gone before it is used, which is for longer than that.
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
