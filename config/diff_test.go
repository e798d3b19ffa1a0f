package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/store/memory"
)

// diff returns the differences between two sides, one line for each field.
func (r *rig) diff(from, to string) []string {
	r.t.Helper()
	list, more, err := r.Versions().Diff(r.t.Context(), from, to, config.Key{}, 1000)
	if err != nil || more {
		r.t.Fatal(err, more)
	}
	out := []string{}
	for _, d := range list {
		out = append(out, d.Op+" "+d.Key.String())
		for _, c := range d.Changes {
			if d.Op == "replace" {
				out = append(out, fmt.Sprintf("  %s %s %s -> %s", c.Op, c.Path, c.Before, c.After))
			}
		}
	}
	return out
}

// A diff names each field that differs, between versions, what is live, and drafts.
func TestDiff(t *testing.T) {
	r := newRig(t, memory.NewDB().Config(), nil)
	r.basics() // versions 1 to 3
	r.put("agents/b", `"model_id":"m","system_prompt":"one","allowed_tools":["a","b","c"],"stop_conditions":[{"type":"timeout","seconds":5}]`)
	r.put("agents/b", `"model_id":"m","max_rounds":8,"allowed_tools":["a","x","b","c"],"stop_conditions":[{"type":"timeout","seconds":7}]`)
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{"3", "3", []string{}},
		{"3", "4", []string{"add agents/b"}},
		{"4", "3", []string{"remove agents/b"}},
		{"4", "live", []string{"replace agents/b", `  add /allowed_tools/1  -> "x"`, "  replace /max_rounds 16 -> 8", "  replace /stop_conditions/0/seconds 5 -> 7", `  remove /system_prompt "one" -> `}},
		{"live", "draft", []string{}},
	} {
		if diff := cmp.Diff(c.want, r.diff(c.from, c.to)); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", c.from, c.to, diff)
		}
	}
	if _, err := r.Put(t.Context(), key("agents/c"), doc(key("agents/c"), `"model_id":"m"`), true, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Put(t.Context(), key("agents/b"), doc(key("agents/b"), `"model_id":"m","max_rounds":9`), true, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	want := []string{"replace agents/b", `  remove /allowed_tools ["a","x","b","c"] -> `, "  replace /max_rounds 8 -> 9", `  remove /stop_conditions [{"seconds":7,"type":"timeout"}] -> `, "add agents/c"}
	if diff := cmp.Diff(want, r.diff("live", "draft")); diff != "" {
		t.Errorf("drafts (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "0", "-1", "01", "new"} {
		_, _, err := r.Versions().Diff(t.Context(), bad, "live", config.Key{}, 10)
		wantErr(t, err, awaken.ErrInvalid, "live or draft")
	}
	_, _, err := r.Versions().Diff(t.Context(), "live", "999", config.Key{}, 10)
	wantErr(t, err, awaken.ErrNotFound)
}

// Pages of a diff continue after a key.
func TestDiff_Pages(t *testing.T) {
	r := newRig(t, memory.NewDB().Config(), nil)
	r.basics()
	for i := range 5 {
		r.put(fmt.Sprintf("agents/p%d", i), `"model_id":"m"`)
	}
	var got []string
	var after config.Key
	for more := true; more; {
		var list []config.DocumentDiff
		var err error
		if list, more, err = r.Versions().Diff(t.Context(), "3", "live", after, 2); err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			got = append(got, d.ID)
			after = d.Key
		}
	}
	if want := "p0 p1 p2 p3 p4"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

// Neither a diff nor a document of a version has a secret, also if the secret came, went or changed.
func TestDiff_HasNoSecrets(t *testing.T) {
	const planted = "planted-secret-91cd"
	r := newRig(t, memory.NewDB().Config(), nil)
	r.basics()
	key1 := func(n int) string { return fmt.Sprintf("%s-%d", planted, n) }
	r.put("providers/q", `"adapter":"x","api_key":"`+key1(1)+`","adapter_options":{"headers":{"X-Key":"`+key1(2)+`"}}`)
	r.put("mcp-servers/s", `"transport":"stdio","command":"c","env":{"TOKEN":"`+key1(3)+`"}`)
	r.put("a2a-servers/s", `"base_url":"https://h","auth":{"type":"bearer","token":"`+key1(4)+`"}`)
	r.put("agents/e", `"model_id":"m","sections":{"x":{"api_key":"`+key1(5)+`"}}`)
	r.put("providers/q", `"adapter":"x","api_key":"`+key1(6)+`","adapter_options":{"headers":{"Y-Key":"`+key1(7)+`"}}`)
	r.put("mcp-servers/s", `"transport":"stdio","command":"c","env":null`)
	r.put("agents/e", `"model_id":"m","sections":{"x":{"password":"`+key1(8)+`"}}`)
	if _, err := r.Put(t.Context(), key("providers/d"), doc(key("providers/d"), `"adapter":"x","api_key":"`+key1(9)+`"`), true, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	head, err := r.Versions().Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for n := int64(1); n <= head.Last; n++ {
		for _, to := range []string{"live", "draft"} {
			all += fmt.Sprintln(r.diff(fmt.Sprint(n), to), r.diff(to, fmt.Sprint(n)))
			list, _, _ := r.Versions().Diff(t.Context(), fmt.Sprint(n), to, config.Key{}, 1000)
			for _, d := range list {
				for _, c := range d.Changes {
					all += string(c.Before) + string(c.After)
				}
				if spec, err := r.Versions().Document(t.Context(), n, d.Key); err == nil {
					all += string(spec)
				}
			}
		}
	}
	if strings.Contains(all, planted) || strings.Contains(all, "$secret") {
		t.Error("a diff or a document has a secret")
	}
	for _, want := range []string{"***", "has_api_key", "env_keys"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not in the diffs: they do not tell of secrets", want)
		}
	}
}
