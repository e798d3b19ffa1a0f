package providertest

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
)

// mutant is an adapter with one bug.
type mutant struct {
	name  string
	group string // of the cases that must find it
	wrong func(llm.Model) llm.Model
}

// deltas is a mutant that changes the stream: f gets each delta and decides what to yield.
func deltas(f func(d llm.Delta, next func(llm.Delta) bool) bool) func(llm.Model) llm.Model {
	return func(m llm.Model) llm.Model {
		return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
			return func(yield func(llm.Delta, error) bool) {
				for d, err := range m.Stream(ctx, req) {
					if err != nil {
						yield(llm.Delta{}, err)
						return
					}
					if !f(d, func(d llm.Delta) bool { return yield(d, nil) }) {
						return
					}
				}
			}
		})
	}
}

// without is a mutant that drops the deltas of a kind.
func without(kind llm.DeltaKind) func(llm.Model) llm.Model {
	return deltas(func(d llm.Delta, next func(llm.Delta) bool) bool { return d.Kind == kind || next(d) })
}

// changed is a mutant that changes deltas of a kind.
func changed(kind llm.DeltaKind, f func(*llm.Delta)) func(llm.Model) llm.Model {
	return deltas(func(d llm.Delta, next func(llm.Delta) bool) bool {
		if d.Kind == kind {
			f(&d)
		}
		return next(d)
	})
}

// failures is a mutant that changes errors. Nil means that the stream ends successfully.
func failures(f func(*llm.Error) error) func(llm.Model) llm.Model {
	return func(m llm.Model) llm.Model {
		return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
			return func(yield func(llm.Delta, error) bool) {
				for d, err := range m.Stream(ctx, req) {
					if e, ok := err.(*llm.Error); ok {
						if err = f(e); err == nil {
							d = llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}
						}
					}
					if !yield(d, err) {
						return
					}
				}
			}
		})
	}
}

// requests is a mutant that changes the request.
func requests(f func(*llm.Request)) func(llm.Model) llm.Model {
	return func(m llm.Model) llm.Model {
		return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
			own := *req
			f(&own)
			return m.Stream(ctx, &own)
		})
	}
}

func mutants() []mutant {
	return []mutant{
		{"DropsTheFinish", "Stream", without(llm.FinishDelta)},
		{"DropsReasoning", "Stream", without(llm.ReasoningDelta)},
		{"DropsUsage", "Stream", without(llm.UsageDelta)},
		{"LosesASignature", "Stream", without(llm.OpaqueDelta)},
		{"DoublesADelta", "Stream", deltas(func(d llm.Delta, next func(llm.Delta) bool) bool {
			return next(d) && (d.Kind != llm.TextDelta || next(d))
		})},
		{"DoublesArguments", "Calls", deltas(func(d llm.Delta, next func(llm.Delta) bool) bool {
			return next(d) && (d.Kind != llm.ToolCallDelta || next(d))
		})},
		{"DoublesTheFinish", "Stream", deltas(func(d llm.Delta, next func(llm.Delta) bool) bool {
			return next(d) && (d.Kind != llm.FinishDelta || next(d))
		})},
		{"TakesATruncationForAnEnd", "Stream", changed(llm.FinishDelta, func(d *llm.Delta) { d.Finish = llm.EndTurn })},
		{"ReportsNoToolUse", "Calls", changed(llm.FinishDelta, func(d *llm.Delta) { d.Finish = llm.EndTurn })},
		{"TrimsText", "Stream", changed(llm.TextDelta, func(d *llm.Delta) { d.Text = strings.TrimSpace(d.Text) })},
		{"BreaksCharacters", "Stream", changed(llm.TextDelta, func(d *llm.Delta) { d.Text = strings.ToValidUTF8(string([]byte(d.Text)[:len(d.Text)/2*2]), "?") })},
		{"ForgetsTheIDsOfCalls", "Calls", changed(llm.ToolCallStart, func(d *llm.Delta) { d.ID = "call_1" })},
		{"ForgetsNamesOfTools", "Calls", changed(llm.ToolCallStart, func(d *llm.Delta) { d.Name = "tool" })},
		{"CountsTheCacheTwice", "Stream", changed(llm.UsageDelta, func(d *llm.Delta) {
			u := *d.Usage
			u.PromptTokens += u.CacheReadTokens
			d.Usage = &u
		})},
		{"HoldsPiecesBack", "Stream", func(m llm.Model) llm.Model {
			return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
				return func(yield func(llm.Delta, error) bool) {
					var kept []llm.Delta
					for d, err := range m.Stream(ctx, req) {
						if err != nil {
							yield(d, err)
							return
						}
						kept = append(kept, d)
					}
					for _, d := range kept {
						if !yield(d, nil) {
							return
						}
					}
				}
			})
		}},
		{"SwallowsAnError", "Errors", failures(func(*llm.Error) error { return nil })},
		{"SwallowsAnErrorInTheStream", "Errors", failures(func(e *llm.Error) error {
			if e.Status == 0 {
				return nil
			}
			return e
		})},
		{"TakesABrokenStreamForAWholeOne", "Faults", failures(func(e *llm.Error) error {
			if e.Kind == llm.Interrupted {
				return nil
			}
			return e
		})},
		{"LosesTheKind", "Errors", failures(func(e *llm.Error) error { own := *e; own.Kind = llm.Provider; return &own })},
		{"LosesTheStatus", "Errors", failures(func(e *llm.Error) error { own := *e; own.Status = 0; return &own })},
		{"LosesRetryAfter", "Errors", failures(func(e *llm.Error) error { own := *e; own.RetryAfter = 0; return &own })},
		{"LosesTheMessage", "Errors", failures(func(e *llm.Error) error { own := *e; own.Message = ""; return &own })},
		{"ReturnsAnErrorOfItsOwn", "Errors", failures(func(e *llm.Error) error { return errors.New(e.Error()) })},
		{"TellsTheKey", "Errors", failures(func(e *llm.Error) error { own := *e; own.Message += " (key " + key + ")"; return &own })},
		{"RetriesBehindOurBack", "Errors", func(m llm.Model) llm.Model { return llm.Retry(m, llm.RetryPolicy{MaxRetries: 1}) }},
		{"RetriesAResetBehindOurBack", "Faults", func(m llm.Model) llm.Model { return llm.Retry(m, llm.RetryPolicy{MaxRetries: 1}) }},
		{"DoesNotHeedACancel", "Cancel", func(m llm.Model) llm.Model {
			return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
				return m.Stream(context.WithoutCancel(ctx), req)
			})
		}},
		{"ReadsOnAfterACancel", "Cancel", func(m llm.Model) llm.Model {
			return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
				return func(yield func(llm.Delta, error) bool) {
					for d, err := range m.Stream(context.WithoutCancel(ctx), req) {
						if d.Kind == llm.FinishDelta && ctx.Err() != nil {
							err = &llm.Error{Kind: llm.Cancelled, Err: context.Cause(ctx)}
						}
						if !yield(d, err) || err != nil {
							return
						}
					}
				}
			})
		}},
		{"DropsTheSystemPrompt", "Requests", requests(func(r *llm.Request) { r.System = nil })},
		{"DropsTheFirstMessage", "Requests", requests(func(r *llm.Request) { r.Messages = llm.NewMessages(r.Messages.Slice()[min(1, r.Messages.Len()):]...) })},
		{"DropsTools", "Requests", requests(func(r *llm.Request) { r.Tools = nil })},
		{"DropsTheTemperatureOfZero", "Requests", requests(func(r *llm.Request) {
			if r.Temperature != nil && *r.Temperature == 0 {
				r.Temperature = nil
			}
		})},
		{"DropsTheLimit", "Requests", requests(func(r *llm.Request) { r.MaxTokens = nil })},
		{"DropsTheSchema", "Requests", requests(func(r *llm.Request) { r.Output = nil })},
		{"DropsTheEffort", "Requests", requests(func(r *llm.Request) { r.ReasoningEffort = nil })},
		{"SetsWhatNobodyAskedFor", "Requests", requests(func(r *llm.Request) {
			if r.Temperature == nil {
				r.Temperature = new(0.7)
			}
		})},
		{"AsksAnotherModel", "Requests", requests(func(r *llm.Request) { r.Model = "gpt-2" })},
		{"DropsMedia", "Requests", requests(func(r *llm.Request) {
			var out []*llm.Message
			for _, m := range r.Messages.All() {
				own := *m
				own.Content = slices.DeleteFunc(slices.Clone(m.Content), func(b llm.Block) bool { return b.Source != nil })
				out = append(out, &own)
			}
			r.Messages = llm.NewMessages(out...)
		})},
		{"ChangesTheRequest", "Requests", func(m llm.Model) llm.Model {
			return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
				for _, m := range req.Messages.All() {
					m.ID = "changed"
				}
				return m.Stream(ctx, req)
			})
		}},
		{"SendsSignaturesOfOthers", "Stream", requests(func(r *llm.Request) {
			var out []*llm.Message
			for _, m := range r.Messages.All() {
				own := *m
				own.Content = slices.Clone(m.Content)
				for i := range own.Content {
					if o := own.Content[i].Opaque; o != nil {
						own.Content[i].Opaque = &llm.Opaque{Provider: plainName, Signature: o.Signature}
					}
				}
				out = append(out, &own)
			}
			r.Messages = llm.NewMessages(out...)
		})},
		{"ListsNoModels", "Models", func(m llm.Model) llm.Model { return forgetful{m} }},
	}
}

// forgetful is a model whose provider lists no models.
type forgetful struct{ llm.Model }

func (forgetful) ListModels(context.Context) ([]llm.ModelInfo, error) { return nil, nil }

const mutantEnv = "PROVIDERTEST_MUTANT"

// TestMutant is the process that TestMutants_AreFound starts.
func TestMutant(t *testing.T) {
	name := os.Getenv(mutantEnv)
	if name == "" {
		t.Skip("it is run by TestMutants_AreFound")
	}
	all := mutants()
	i := slices.IndexFunc(all, func(m mutant) bool { return m.name == name })
	Test(t, plainAdapter(all[i].wrong))
}

// A check that cannot fail is worthless. Each of these adapters has one bug, and the suite finds
// it with the cases that test for it.
func TestMutants_AreFound(t *testing.T) {
	failed := regexp.MustCompile(`--- FAIL: TestMutant/(\w+/\w+)`)
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMutant$/^"+m.group+"$", "-test.timeout=2m")
			cmd.Env = append(os.Environ(), mutantEnv+"="+m.name, "GORACE=atexit_sleep_ms=10")
			out, err := cmd.CombinedOutput()
			if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
				t.Fatal(err)
			}
			var by []string
			for _, f := range failed.FindAllStringSubmatch(string(out), -1) {
				by = append(by, f[1])
			}
			if len(by) == 0 {
				t.Errorf("no case found the bug:\n%s", out)
			}
			t.Logf("found by %d cases: %s", len(by), strings.Join(by, ", "))
		})
	}
}
