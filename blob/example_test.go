package blob_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// A file is uploaded, and a message refers to it. The model gets its bytes.
func Example() {
	ctx := context.Background()
	store := memory.New()
	rt, err := engine.New(engine.Config{Store: store, Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "u"}},
		Providers: map[string]llm.Model{"p": llmtest.Demo()}})
	if err != nil {
		log.Fatal(err)
	}
	b, err := store.Blobs().Put(ctx, "text/plain", strings.NewReader("The meeting is at nine."), blob.User("ann"))
	if err != nil {
		log.Fatal(err)
	}
	res, err := rt.Run(ctx, awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{{Role: llm.User,
		Content: []llm.Block{llm.Text("When?"), llm.Document(llm.Blob(b.ID, b.MediaType, b.Size), "notes.txt")}}}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	readable, err := store.Blobs().Readable(ctx, b.ID, "ann")
	fmt.Println(res.Termination, b.Size, readable, err)
	// Output: natural_end 23 true <nil>
}

// The types of blobs, and what is none.
func ExampleParseMediaType() {
	for _, s := range []string{"Image/PNG", "text/plain; charset=UTF-8", "png"} {
		fmt.Println(blob.ParseMediaType(s))
	}
	// Output:
	// image/png <nil>
	// text/plain; charset=UTF-8 <nil>
	//  media type is "png", want one such as image/png
}
