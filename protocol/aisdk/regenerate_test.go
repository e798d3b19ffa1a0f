package aisdk_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A regeneration in the middle of an answer hides what the stopped run stores of it, whether the page
// names the answer or not.
func TestRegenerate_InMidAnswerHidesTheCutAnswer(t *testing.T) {
	for name, messageID := range map[string]string{"the last answer": "", "an answer by its id": `,"messageId":"ANSWER"`} {
		t.Run(name, func(t *testing.T) {
			g := newRigWith(t, make(chan struct{}))
			const said = `"messages":[{"id":"m","role":"user","content":"go"}]`
			resp, err := http.Post(g.URL+"/v1/ai-sdk/chat", "application/json", strings.NewReader(`{"id":"t","agentId":"slow",`+said+`}`))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answer := ""
			for r := bufio.NewReader(resp.Body); ; {
				line, err := r.ReadString('\n')
				if err != nil {
					t.Fatalf("the text did not come: %v", err)
				}
				if _, rest, ok := strings.Cut(line, `"messageId":"`); ok {
					answer, _, _ = strings.Cut(rest, `"`)
				}
				if strings.Contains(line, `"text-delta"`) {
					break
				}
			}
			status, body := g.post(g.URL, fmt.Sprintf(`{"id":"t","agentId":"default","trigger":"regenerate-message"%s,%s}`, strings.Replace(messageID, "ANSWER", answer, 1), said))
			if status != 200 {
				t.Fatalf("%d: %s", status, body)
			}
			list := chunksOf(t, body)
			got := g.history(g.URL, "t").Messages
			if len(got) != 2 || got[0].ID != "m" || got[1].ID != messageIDs(list)[0] {
				t.Errorf("the history is %+v, want the message and the answer %q", got, messageIDs(list))
			}
		})
	}
}
