package blob_test

import (
	"strings"
	"testing"

	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/memory"
)

// The latest files are attached, up to the limit, whatever size a reference claims.
func TestAttacher_AttachesTheLatest(t *testing.T) {
	files := memory.New().Blobs()
	ref := func(text string) llm.Block {
		b, err := files.Put(t.Context(), "text/plain", strings.NewReader(text), blob.User(""))
		if err != nil {
			t.Fatal(err)
		}
		return llm.Document(llm.Blob(b.ID, b.MediaType, 0), "")
	}
	msgs := []*llm.Message{{Content: []llm.Block{ref("1111"), ref("22")}}, {Content: []llm.Block{ref("333"), ref("4444")}}}
	a := blob.Attacher{Store: files, Most: 9}
	for range 2 { // the second time from what it has kept
		out, err := a.Messages(t.Context(), msgs, func(b llm.Block) llm.Block { return llm.Text("-") })
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range out {
			for _, b := range m.Content {
				if b.Source != nil {
					got = append(got, b.Source.Data)
				} else {
					got = append(got, b.Text)
				}
			}
		}
		if s := strings.Join(got, " "); s != "- MjI= MzMz NDQ0NA==" {
			t.Errorf("attached: %s", s)
		}
	}
	if msgs[1].Content[1].Source.Type != "blob" {
		t.Error("the messages were changed")
	}
}
