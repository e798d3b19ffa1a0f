package config

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// named is models that are known by a name.
type named string

func (n named) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{Kind: llm.TextDelta, Text: string(n)}, nil) }
}

// says returns the first text or error of a provider.
func says(ctx context.Context, p llm.Model) string {
	for d, err := range p.Stream(ctx, &llm.Request{}) {
		if err != nil {
			return err.Error()
		}
		return d.Text
	}
	return ""
}

// providerDoc is a provider with a secret, and the secrets with a value for it.
func providerDoc(t *testing.T, v *Vault, value string, revision int64) (*document, *secrets) {
	t.Helper()
	key := Key{Providers, "p"}
	sealed, err := seal(key, []byte(`{"id":"p","adapter":"x","api_key":"`+value+`"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]SealedSecret{}
	for ref, value := range sealed.Secrets {
		s := v.Encrypt(ref, value)
		s.Revision = revision
		all[ref] = s
	}
	return newDocument(key, sealed.Doc, 1), &secrets{v, all}
}

func TestAccounts_OneProviderForAllVersions(t *testing.T) {
	made := 0
	as := &accounts{open: func(_ context.Context, spec *awaken.ProviderSpec) (llm.Model, error) {
		made++
		return named(spec.APIKey.Expose()), nil
	}}
	v := vault(t, strings.Repeat("42", 32))
	doc, old := providerDoc(t, v, "sk-old-secret", 1)
	p, _ := as.provider(t.Context(), doc, old)
	if again, _ := as.provider(t.Context(), doc, old); again != p || made != 1 {
		t.Fatalf("made %d times, want the same provider, once", made)
	}
	_, next := providerDoc(t, v, "sk-new-secret", 2)
	if _, a := as.provider(t.Context(), doc, next); a == p.now.Load() {
		t.Error("a version that is only compiled changes what runs")
	}
	if got := says(t.Context(), p); got != "sk-old-secret" {
		t.Errorf("before it is renewed, the provider has %q", got)
	}
	as.renew(t.Context(), next)
	if got := says(t.Context(), p); got != "sk-new-secret" {
		t.Errorf("after it is renewed, the provider has %q", got)
	}
	made = 0
	if as.renew(t.Context(), next); made != 0 {
		t.Error("a provider whose secret is the same is made again")
	}
}

func TestAccounts_AFailureSaysNoSecretAndIsTriedAgain(t *testing.T) {
	fail := true
	as := &accounts{open: func(_ context.Context, spec *awaken.ProviderSpec) (llm.Model, error) {
		if fail {
			return nil, fmt.Errorf("%s is refused", spec.APIKey.Expose())
		}
		return named("up"), nil
	}}
	doc, sec := providerDoc(t, vault(t, strings.Repeat("42", 32)), "sk-secret", 1)
	p, a := as.provider(t.Context(), doc, sec)
	if a.err == nil || strings.Contains(a.err.Error(), "sk-secret") {
		t.Fatalf("the error is %v, want one without the secret", a.err)
	}
	if got := says(t.Context(), p); !strings.Contains(got, "*** is refused") {
		t.Errorf("its models say %q", got)
	}
	fail = false
	if _, a := as.provider(t.Context(), doc, sec); a.err != nil {
		t.Errorf("the second try is %v", a.err)
	}
}

func TestAccounts_AProgramThatMakesNone(t *testing.T) {
	doc, sec := providerDoc(t, vault(t, strings.Repeat("42", 32)), "sk-secret", 1)
	if _, a := (&accounts{}).provider(t.Context(), doc, sec); a.err == nil {
		t.Error("there is no error")
	}
	nothing := &accounts{open: func(context.Context, *awaken.ProviderSpec) (llm.Model, error) { return nil, nil }}
	if _, a := nothing.provider(t.Context(), doc, sec); a.err == nil {
		t.Error("nothing is no error")
	}
	gone := &secrets{sec.vault, nil}
	if refs := gone.missing(doc); len(refs) != 1 {
		t.Errorf("missing are %q, want the key", refs)
	}
	if _, err := gone.value(doc.secrets[0]); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("a secret that is gone is %v", err)
	}
}
