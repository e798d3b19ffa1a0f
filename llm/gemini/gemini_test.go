package gemini

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
	"github.com/awaken-go/awaken/llm/provider"
)

func TestTraits(t *testing.T) {
	for name, want := range map[string]traits{
		"gemini-2.5-flash":               {205, false},
		"models/gemini-2.5-pro":          {205, true},
		"gemini-3-pro-preview":           {300, true},
		"gemini-3.1-pro-preview":         {301, true},
		"gemini-3-flash-preview":         {300, false},
		"gemini-2.0-flash-001":           {200, false},
		"gemini-flash-latest":            {0, false},
		"publishers/google/models/gemma": {0, false},
	} {
		if got := traitsOf(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestSignatures_AreStoredAndSentBackToTheSameModel(t *testing.T) {
	calls := []string{parts(`{"text":"Let me think.","thought":true}`),
		parts(`{"functionCall":{"name":"lookup","args":{"q":"x","n":12345678901234567890}},"thoughtSignature":"c2lnMQ=="}`, `{"functionCall":{"id":"own","name":"lookup","args":{}}}`), ended("STOP")}
	f := serve(t, calls, []string{parts(`{"text":"done"}`), parts(`{"text":"","thoughtSignature":"c2lnMg=="}`), ended("STOP")}, []string{parts(`{"text":"more"}`), ended("STOP")})
	m := f.Model(t)
	req := providertest.Hello("gemini-3-pro-preview")
	req.Tools = []llm.Tool{providertest.Lookup()}
	r := providertest.Generate(t, m, req)
	if r.Finish != llm.ToolUse || len(r.Message.ToolCalls) != 2 || r.Message.Content[0].Text != "Let me think." {
		t.Fatalf("reply: %s", providertest.Show(r))
	}
	if a := string(r.Message.ToolCalls[0].Arguments); !strings.Contains(a, "12345678901234567890") {
		t.Errorf("a number became another: %s", a)
	}
	if r.Message.ToolCalls[0].ID != "call_resp1_1" || r.Message.ToolCalls[1].ID != "own" {
		t.Errorf("ids %s", providertest.Show(r.Message.ToolCalls))
	}
	req.Messages = req.Messages.Append(r.Message)
	for _, c := range r.Message.ToolCalls {
		req.Messages = req.Messages.Append(&llm.Message{Role: llm.ToolRole, ToolCallID: c.ID, Content: []llm.Block{llm.Text("y")}})
	}
	last := providertest.Generate(t, m, req)
	sent := string(f.Body(1))
	if !strings.Contains(sent, `"thoughtSignature":"c2lnMQ=="`) || !strings.Contains(sent, "12345678901234567890") || strings.Contains(sent, "Let me think.") || strings.Contains(sent, skipSignature) {
		t.Errorf("sent back %s", sent)
	}
	req.Messages = req.Messages.Append(last.Message, llm.UserText("go on"))
	providertest.Generate(t, m, req)
	if sent := string(f.Body(2)); !strings.Contains(sent, `{"text":"done","thoughtSignature":"c2lnMg=="}`) {
		t.Errorf("the signature of the text: %s", sent)
	}
	req.Model = "gemini-3-flash-preview"
	providertest.Generate(t, m, req)
	if sent := string(f.Body(3)); strings.Contains(sent, "c2lnM") || !strings.Contains(sent, skipSignature) {
		t.Errorf("another model was sent %s", sent)
	}
}

func TestUsage(t *testing.T) {
	f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
	got := providertest.Generate(t, f.Model(t), providertest.Hello("gemini-2.5-flash")).Usage
	want := llm.Usage{PromptTokens: 100, CompletionTokens: 50, TotalTokens: 150, CacheReadTokens: 64, ThinkingTokens: 30}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestFinish(t *testing.T) {
	for reason, want := range map[string]llm.FinishReason{"STOP": llm.EndTurn, "MAX_TOKENS": llm.MaxTokens} {
		f := serve(t, []string{parts(`{"text":"ok"}`), ended(reason)})
		if got := providertest.Generate(t, f.Model(t), providertest.Hello("gemini-2.5-flash")).Finish; got != want {
			t.Errorf("%s: %s, want %s", reason, got, want)
		}
	}
	for reason, want := range map[string]llm.Kind{
		"SAFETY": llm.ContentFiltered, "RECITATION": llm.ContentFiltered, "BLOCKLIST": llm.ContentFiltered, "PROHIBITED_CONTENT": llm.ContentFiltered, "SPII": llm.ContentFiltered,
		"MALFORMED_FUNCTION_CALL": llm.Provider, "OTHER": llm.Provider, "SOMETHING_NEW": llm.Provider,
	} {
		f := serve(t, []string{parts(`{"text":"ok"}`), ended(reason)})
		if _, err := llm.Generate(context.Background(), f.Model(t), providertest.Hello("gemini-2.5-flash")); llm.KindOf(err) != want {
			t.Errorf("%s: %v, want %s", reason, err, want)
		}
	}
	f := serve(t, []string{`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":5}}`})
	if _, err := llm.Generate(context.Background(), f.Model(t), providertest.Hello("gemini-2.5-flash")); llm.KindOf(err) != llm.ContentFiltered {
		t.Errorf("blocked prompt: %v", err)
	}
}

func TestFinish_WaitsForLateUsage(t *testing.T) {
	f := serve(t, []string{`{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}`, `{"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1}}`})
	if r := providertest.Generate(t, f.Model(t), providertest.Hello("gemini-2.5-flash")); r.Usage.TotalTokens != 6 || r.Finish != llm.EndTurn {
		t.Errorf("%+v", r)
	}
}

func TestThinking_ForModelsAndEfforts(t *testing.T) {
	level := func(s string) *llm.Effort { return &llm.Effort{Level: s} }
	for _, c := range []struct {
		model  string
		effort *llm.Effort
		want   string
	}{
		{"gemini-2.5-flash", nil, "null"},
		{"gemini-2.5-flash", level("none"), `{"includeThoughts":false,"thinkingBudget":0,"thinkingLevel":""}`},
		{"gemini-2.5-flash", level("low"), `{"includeThoughts":true,"thinkingBudget":1024,"thinkingLevel":""}`},
		{"gemini-2.5-flash", level("max"), `{"includeThoughts":true,"thinkingBudget":24576,"thinkingLevel":""}`},
		{"gemini-2.5-pro", level("none"), `{"includeThoughts":false,"thinkingBudget":128,"thinkingLevel":""}`},
		{"gemini-2.5-pro", level("max"), `{"includeThoughts":true,"thinkingBudget":32768,"thinkingLevel":""}`},
		{"gemini-2.5-pro", &llm.Effort{Budget: 777}, `{"includeThoughts":true,"thinkingBudget":777,"thinkingLevel":""}`},
		{"gemini-2.0-flash", level("high"), "null"},
		{"gemini-3-pro-preview", level("low"), `{"includeThoughts":true,"thinkingBudget":null,"thinkingLevel":"LOW"}`},
		{"gemini-3-pro-preview", level("medium"), `{"includeThoughts":true,"thinkingBudget":null,"thinkingLevel":"HIGH"}`},
		{"gemini-3.1-pro-preview", level("medium"), `{"includeThoughts":true,"thinkingBudget":null,"thinkingLevel":"MEDIUM"}`},
		{"gemini-3-flash-preview", level("none"), `{"includeThoughts":false,"thinkingBudget":null,"thinkingLevel":"MINIMAL"}`},
		{"gemini-3-pro-preview", &llm.Effort{Budget: 20000}, `{"includeThoughts":true,"thinkingBudget":null,"thinkingLevel":"HIGH"}`},
	} {
		f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
		req := providertest.Hello(c.model)
		req.ReasoningEffort = c.effort
		providertest.Generate(t, f.Model(t), req)
		if got := providertest.Show(f.request(t, 0).GenerationConfig.ThinkingConfig); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.model, providertest.Show(c.effort), got, c.want)
		}
	}
}

func TestThinking_StaysBelowTheOutputLimit(t *testing.T) {
	for _, c := range []struct {
		model  string
		effort llm.Effort
		limit  int
		want   int
	}{
		{"gemini-2.5-flash", llm.Effort{Level: "high"}, 4000, 3200},
		{"gemini-2.5-flash", llm.Effort{Level: "low"}, 4000, 1024},
		{"gemini-2.5-flash", llm.Effort{Level: "none"}, 4000, 0},
		{"gemini-2.5-flash", llm.Effort{Budget: 9000}, 4000, 3999},
		{"gemini-2.5-flash", llm.Effort{Budget: 9000}, 1, 0},
		{"gemini-2.5-pro", llm.Effort{Level: "max"}, 1000, 800},
		{"gemini-2.5-pro", llm.Effort{Level: "max"}, 100, 128}, // the least that the model accepts
	} {
		f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
		req := providertest.Hello(c.model)
		req.ReasoningEffort, req.MaxTokens = &c.effort, &c.limit
		providertest.Generate(t, f.Model(t), req)
		if got := *f.request(t, 0).GenerationConfig.ThinkingConfig.ThinkingBudget; got != c.want {
			t.Errorf("%s %s of %d tokens: %d, want %d", c.model, providertest.Show(c.effort), c.limit, got, c.want)
		}
	}
}

func TestParams_AreSent(t *testing.T) {
	f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
	req := providertest.Hello("gemini-2.5-flash")
	req.System = []llm.Block{llm.Text("be brief")}
	req.Temperature, req.TopP, req.MaxTokens, req.Seed, req.StopSequences = new(0.7), new(0.9), new(100), new(int64(7)), []string{"END"}
	providertest.Generate(t, f.Model(t), req)
	r := f.request(t, 0)
	g := r.GenerationConfig
	if *g.Temperature != 0.7 || *g.TopP != 0.9 || *g.MaxOutputTokens != 100 || *g.Seed != 7 || len(g.StopSequences) != 1 || *r.SystemInstruction.Parts[0].Text != "be brief" {
		t.Errorf("sent %s", f.Body(0))
	}
	if f.Header(0).Get("X-Goog-Api-Key") != "key" {
		t.Errorf("headers %v", f.Header(0))
	}
}

func TestSeed_CutToTheBitsOfTheAPIIsReported(t *testing.T) {
	for seed, want := range map[int64]string{7: "", -1 << 31: "", 1<<32 + 7: "seed cut to 32 bits"} {
		f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
		req := providertest.Hello("gemini-2.5-flash")
		req.Seed = &seed
		got := ""
		for d, err := range f.Model(t).Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Kind == llm.OmittedDelta {
				got += d.Name + " " + d.Text
			}
		}
		if sent := *f.request(t, 0).GenerationConfig.Seed; got != want || sent != int32(seed) {
			t.Errorf("of seed %d, %d is sent, and the stream says %q, want %q", seed, sent, got, want)
		}
	}
	if got := llm.KnowledgeOf(serve(t).Model(t), "gemini-2.5-flash").Omitted; len(got) != 1 || got[0] != (llm.Omission{Parameter: "seed", Reason: "cut to 32 bits"}) {
		t.Errorf("the adapter is known to omit %v", got)
	}
}

func TestToolChoice(t *testing.T) {
	for _, c := range []struct {
		choice *llm.ToolChoice
		want   string
	}{
		{nil, "null"},
		{&llm.ToolChoice{Mode: "auto"}, `{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":null}}`},
		{&llm.ToolChoice{Mode: "none"}, `{"functionCallingConfig":{"mode":"NONE","allowedFunctionNames":null}}`},
		{&llm.ToolChoice{Mode: "required"}, `{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":null}}`},
		{&llm.ToolChoice{Mode: "tool", Name: "lookup"}, `{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["lookup"]}}`},
	} {
		f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
		req := providertest.Hello("gemini-2.5-flash")
		req.Tools, req.ToolChoice = []llm.Tool{providertest.Lookup()}, c.choice
		providertest.Generate(t, f.Model(t), req)
		if got := providertest.Show(f.request(t, 0).ToolConfig); got != c.want {
			t.Errorf("%s: %s, want %s", providertest.Show(c.choice), got, c.want)
		}
	}
}

func TestOutput_IsEnforcedByTheAPIOrByAFunction(t *testing.T) {
	output := &llm.OutputSchema{Name: "result", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
	for _, c := range []struct {
		model  string
		tools  []llm.Tool
		native bool
	}{{"gemini-2.5-flash", nil, true}, {"gemini-2.5-flash", []llm.Tool{providertest.Lookup()}, false}, {"gemini-3-pro-preview", []llm.Tool{providertest.Lookup()}, true}} {
		answer := parts(`{"text":"{\"n\":1}"}`)
		if !c.native {
			answer = parts(`{"functionCall":{"name":"result","args":{"n":1}}}`)
		}
		f := serve(t, []string{answer, ended("STOP")})
		req := providertest.Hello(c.model)
		req.Tools, req.Output = c.tools, output
		r := providertest.Generate(t, f.Model(t), req)
		if r.Message.Text() != `{"n":1}` || r.Finish != llm.EndTurn || len(r.Message.ToolCalls) != 0 {
			t.Errorf("%s: %s", c.model, providertest.Show(r))
		}
		if got := f.request(t, 0).GenerationConfig.ResponseSchema != nil; got != c.native {
			t.Errorf("%s with %d tools: native %v", c.model, len(c.tools), got)
		}
	}
}

func TestMedia_InMessagesAndResults(t *testing.T) {
	blocks := []llm.Block{llm.Text("see"), llm.Image(llm.Base64("image/png", "aGk=")), llm.Document(llm.URL("https://x/y.pdf"), ""),
		{Type: llm.AudioBlock, Source: llm.Base64("audio/wav", "aGk=")}, {Type: llm.VideoBlock, Source: llm.URL("https://x/y.webm?z")}}
	for model, inResult := range map[string]bool{"gemini-2.5-flash": false, "gemini-3-pro-preview": true} {
		f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
		req := providertest.Hello(model)
		req.Tools = []llm.Tool{providertest.Lookup()}
		req.Messages = llm.NewMessages(&llm.Message{Role: llm.User, Content: blocks},
			&llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "lookup"}}},
			&llm.Message{Role: llm.ToolRole, ToolCallID: "1", Content: blocks[:2]})
		providertest.Generate(t, f.Model(t), req)
		r := f.request(t, 0)
		if p := r.Contents[0].Parts; len(p) != 5 || p[2].FileData.MIMEType != "application/pdf" || p[3].InlineData.MIMEType != "audio/wav" || p[4].FileData.MIMEType != "video/webm" {
			t.Errorf("sent %s", f.Body(0))
		}
		if got := len(r.Contents[2].Parts[0].FunctionResponse.Parts) == 1; got != inResult {
			t.Errorf("%s: in the result %v", model, got)
		}
		if got := len(r.Contents) == 4; got == inResult {
			t.Errorf("%s: %d turns", model, len(r.Contents))
		}
	}
}

func TestToolResults_AreObjects(t *testing.T) {
	for text, want := range map[string]string{`{"a":1}`: `{"a":1}`, "plain": `{"result":"plain"}`, `[1]`: `{"result":"[1]"}`, "": `{"result":""}`, `{broken`: `{"result":"{broken"}`} {
		m := &llm.Message{Role: llm.ToolRole, ToolCallID: "1", Content: []llm.Block{llm.Text(text)}}
		if got := string(response(m, "f").Response); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestModel_RejectsNamesThatCannotBePartOfAPath(t *testing.T) {
	f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
	for _, name := range []string{"", "a?b", "a&b", "../secret"} {
		if _, err := llm.Generate(t.Context(), f.Model(t), providertest.Hello(name)); llm.KindOf(err) != llm.InvalidRequest || f.Requests() != 0 {
			t.Errorf("%q: %v, %d requests", name, err, f.Requests())
		}
	}
}

func TestErrors_HaveRetryAfterAndAreNotRetried(t *testing.T) {
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"21s"}]}}`)
	}))
	defer srv.Close()
	m, err := New(Config{Config: provider.Config{APIKey: "key", BaseURL: srv.URL}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = llm.Generate(context.Background(), m, providertest.Hello("gemini-2.5-flash"))
	if e, ok := err.(*llm.Error); !ok || e.Kind != llm.RateLimited || e.RetryAfter.Seconds() != 21 || asked.Load() != 1 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
}

func TestStream_IgnoresComments(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, ": keep-alive\n\ndata: %s\n\n: another\n\ndata: %s\n\n", parts(`{"text":"ok"}`), ended("STOP"))
	}))
	defer srv.Close()
	m, err := New(Config{Config: provider.Config{APIKey: "key", BaseURL: srv.URL}})
	if err != nil {
		t.Fatal(err)
	}
	if r := providertest.Generate(t, m, providertest.Hello("gemini-2.5-flash")); r.Message.Text() != "ok" {
		t.Error(providertest.Show(r))
	}
}

func TestVertex_ExchangesAServiceAccountForAToken(t *testing.T) {
	f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
	tokens := newTokens(t, http.StatusOK)
	file := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(file, tokens.account(t), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := New(Config{Config: provider.Config{KeyFile: file, BaseURL: f.URL}, Vertex: true, Location: "europe-west4"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := llm.Generate(context.Background(), m, providertest.Hello("gemini-2.5-flash")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := tokens.given.Load(); n != 1 {
		t.Errorf("%d tokens for 8 requests at once", n)
	}
	if got := f.Header(0).Get("Authorization"); got != "Bearer token-1" || f.Header(0).Get("X-Goog-Api-Key") != "" {
		t.Errorf("headers %v", f.Header(0))
	}
	if want := "/v1beta1/projects/proj/locations/europe-west4/publishers/google/models/gemini-2.5-flash:streamGenerateContent"; f.Path(0) != want {
		t.Errorf("path %s, want %s", f.Path(0), want)
	}
}

// A token that is about to expire is renewed once, while it is still in use. No request waits
// for the renewal, and the new token is cached.
func TestVertex_RenewsAnExpiringTokenInTheBackground(t *testing.T) {
	f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
	tokens := newTokens(t, http.StatusOK)
	tokens.lasts.Store(60)
	m, err := New(Config{Config: provider.Config{APIKey: string(tokens.account(t)), BaseURL: f.URL}, Vertex: true})
	if err != nil {
		t.Fatal(err)
	}
	used := func() string {
		providertest.Generate(t, m, providertest.Hello("gemini-2.5-flash"))
		return f.Header(f.Requests() - 1).Get("Authorization")
	}
	if got := used(); got != "Bearer token-1" {
		t.Fatal(got)
	}
	tokens.lasts.Store(3600)
	renewed := false
	for range 10_000 {
		if renewed = used() == "Bearer token-2"; renewed {
			break
		}
	}
	if got := used(); !renewed || got != "Bearer token-2" || tokens.given.Load() != 2 {
		t.Errorf("%s, and %d tokens were given", got, tokens.given.Load())
	}
}

func TestVertex_ReportsARejectedAccount(t *testing.T) {
	f := serve(t, []string{ended("STOP")})
	tokens := newTokens(t, http.StatusUnauthorized)
	m, err := New(Config{Config: provider.Config{APIKey: string(tokens.account(t)), BaseURL: f.URL}, Vertex: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := llm.Generate(context.Background(), m, providertest.Hello("gemini-2.5-flash")); llm.KindOf(err) != llm.Unauthorized {
		t.Errorf("%v, want unauthorized", err)
	}
}

// A token that cannot be renewed is used while it is valid, without a new attempt on every
// request.
func TestVertex_KeepsAValidTokenIfRenewalFails(t *testing.T) {
	t.Parallel()
	fetched := make(chan error, 8)
	a := &account{fetch: func() (*oauth2.Token, error) {
		err := <-fetched
		return &oauth2.Token{AccessToken: "one", Expiry: time.Now().Add(time.Minute)}, err
	}}
	fetched <- nil
	if got, err := a.token(t.Context()); got != "one" || err != nil {
		t.Fatal(got, err)
	}
	fetched <- errors.New("not now")
	for range 100 {
		if got, err := a.token(t.Context()); got != "one" || err != nil {
			t.Fatal(got, err)
		}
	}
	a.mu.Lock()
	latest := a.latest
	a.kept.Expiry = time.Now()
	a.mu.Unlock()
	<-latest.done
	fetched <- errors.New("refused")
	if _, err := a.token(t.Context()); llm.KindOf(err) != llm.Provider || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
	fetched <- nil
	if got, err := a.token(t.Context()); got != "one" || err != nil {
		t.Error(got, err)
	}
}

func TestVertex_ACancelDoesNotWaitForAToken(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	defer close(block)
	a := &account{fetch: func() (*oauth2.Token, error) { <-block; return nil, errors.New("late") }}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.token(ctx); llm.KindOf(err) != llm.Cancelled {
		t.Error(err)
	}
}

// In universes other than Google's own, the token is the signed assertion.
func TestVertex_OtherUniversesGetASignedAssertion(t *testing.T) {
	f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
	tokens := newTokens(t, http.StatusOK)
	file := strings.Replace(string(tokens.account(t)), `"type"`, `"universe_domain":"example.cloud","type"`, 1)
	m, err := New(Config{Config: provider.Config{APIKey: file, BaseURL: f.URL}, Vertex: true})
	if err != nil {
		t.Fatal(err)
	}
	providertest.Generate(t, m, providertest.Hello("gemini-2.5-flash"))
	if got := f.Header(0).Get("Authorization"); strings.Count(got, ".") != 2 || tokens.given.Load() != 0 {
		t.Errorf("%s, %d tokens", got, tokens.given.Load())
	}
}

func TestVertex_ExpressMode(t *testing.T) {
	f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
	m, err := New(Config{Config: provider.Config{APIKey: "express", BaseURL: f.URL}, Vertex: true})
	if err != nil {
		t.Fatal(err)
	}
	providertest.Generate(t, m, providertest.Hello("gemini-2.5-flash"))
	if f.Header(0).Get("X-Goog-Api-Key") != "express" || f.Path(0) != "/v1beta1/publishers/google/models/gemini-2.5-flash:streamGenerateContent" {
		t.Errorf("%s %v", f.Path(0), f.Header(0))
	}
}

func TestNew_ErrorsNameWhatIsMissing(t *testing.T) {
	for _, name := range []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"} {
		t.Setenv(name, "")
	}
	for want, c := range map[string]Config{
		"GEMINI_API_KEY":                 {},
		"GOOGLE_APPLICATION_CREDENTIALS": {Vertex: true},
		"GOOGLE_CLOUD_PROJECT":           {Vertex: true, Config: provider.Config{Headers: map[string]string{"Authorization": "Bearer x"}}},
		"not valid JSON":                 {Vertex: true, Config: provider.Config{APIKey: "{"}},
		"want service_account":           {Vertex: true, Config: provider.Config{APIKey: `{"type":"authorized_user"}`}},
		"private_key is missing":         {Vertex: true, Config: provider.Config{APIKey: `{"type":"service_account"}`}},
		`location is "evil.example/"`:    {Vertex: true, Project: "p", Location: "evil.example/", Config: provider.Config{Headers: map[string]string{"Authorization": "Bearer x"}}},
		"token_uri":                      {Vertex: true, Config: provider.Config{APIKey: `{"type":"service_account","token_uri":"https://evil.example/googleapis.com"}`}},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	t.Setenv("GOOGLE_API_KEY", "from-env")
	f := serve(t, []string{parts(`{"text":"ok"}`), ended("STOP")})
	m, err := New(Config{Config: provider.Config{BaseURL: f.URL + "/v1beta"}})
	if err != nil {
		t.Fatal(err)
	}
	providertest.Generate(t, m, providertest.Hello("gemini-2.5-flash"))
	if got := f.Header(0).Get("X-Goog-Api-Key"); got != "from-env" {
		t.Errorf("key %q", got)
	}
}

// tokens is a server that exchanges assertions of service accounts for tokens.
type tokens struct {
	*httptest.Server
	given atomic.Int32
	lasts atomic.Int32 // seconds
}

func newTokens(t *testing.T, status int) *tokens {
	s := &tokens{}
	s.lasts.Store(3600)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || strings.Count(r.FormValue("assertion"), ".") != 2 || status != http.StatusOK {
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return
		}
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":%d}`, s.given.Add(1), s.lasts.Load())
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *tokens) account(t *testing.T) []byte {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "proj", "client_email": "a@proj.iam.gserviceaccount.com", "private_key_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": s.URL,
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}
