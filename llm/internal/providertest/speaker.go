package providertest

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// Adapter is what is tested.
type Adapter struct {
	// Open returns a model that is reached as c says. The cases set an API key.
	Open func(t testing.TB, c provider.Config) llm.Model
	Speaker
	// Provider is the name in the adapter's opaque material.
	Provider string
	// Model is asked for. It is one that thinks.
	Model string
	// Cannot names what the provider cannot do or say; the cases about it are left out.
	Cannot []Power
}

// Power is something that not all providers can do.
type Power string

const (
	Seed             Power = "seed"              // requests have a seed
	Stop             Power = "stop"              // requests have stop sequences
	Effort           Power = "effort"            // requests have a reasoning effort
	Parallel         Power = "parallel"          // parallel calls can be switched off
	Choice           Power = "choice"            // requests say whether a tool has to be called
	Output           Power = "output"            // the answer can be held to a schema
	CacheKey         Power = "cache key"         // requests say which of them belong together
	CacheMarks       Power = "cache marks"       // requests say what of them is to be cached
	Images           Power = "images"            // users can show images
	ImageURLs        Power = "image urls"        // by their URL
	Documents        Power = "documents"         // users can show PDFs
	Audio            Power = "audio"             // users can play audio
	ToolImages       Power = "tool images"       // tools can show images, in their answer or right after it
	Opaque           Power = "opaque"            // thinking has opaque material
	Reasoning        Power = "reasoning"         // thinking is shown
	ArgumentText     Power = "argument text"     // arguments are text that may be wrong
	Interleaved      Power = "interleaved"       // the arguments of several calls may come mixed
	CallIDs          Power = "call ids"          // calls have ids
	Comments         Power = "comments"          // streams may have comments
	FinishSays       Power = "finish says"       // a stream has a finish that may be missing
	Filter           Power = "filter"            // a content filter may end a stream
	CachedTokens     Power = "cached tokens"     // usage counts them
	ThinkingTokens   Power = "thinking tokens"   // usage counts them
	MidStreamErrors  Power = "mid-stream errors" // an error may come in the middle of a stream
	LateInstructions Power = "late instructions" // system messages may come later, as such
)

// Speaker is the provider's side of the wire.
type Speaker interface {
	// Speak returns the frames of a reply as the provider writes them: those with its parts,
	// and those that say that it is over and why, without which the reply is not whole.
	// A frame is a whole event.
	Speak(r Reply) (parts, end [][]byte)
	// ErrorFrame is the frame of an error in the middle of a stream.
	ErrorFrame(f Failure) []byte
	// ErrorBody is the body of an answer with an error status.
	ErrorBody(f Failure) []byte
	// Read says what a request asks for. It is strict: what the provider would refuse is an
	// error.
	Read(r *http.Request, body []byte) (*Asked, error)
}

// Reply is what a provider says.
type Reply struct {
	Parts  []Part
	Usage  *llm.Usage
	Finish llm.FinishReason // "" is a content filter
}

// Part is a piece of a reply: one of its fields is set.
type Part struct {
	Reasoning []string // in pieces
	Opaque    string   // of the reasoning before it, which is over
	Text      []string // in pieces
	Call      *Call
	Mixed     []Call // calls whose arguments come in turns
}

// Call is a tool call.
type Call struct {
	ID, Name string
	Args     []string // in pieces
}

// Failure is an error as a provider reports it.
type Failure struct {
	Kind    llm.Kind
	Status  int
	Message string
}

// Asked is what a request asks for.
type Asked struct {
	Model    string
	System   string // all instructions that are not in the conversation
	Turns    []Turn
	Tools    []Tool
	Stream   bool
	Key      string // the API key
	CacheKey string
	Cached   int // how many parts are marked for the prompt cache

	Temperature *float64
	TopP        *float64
	MaxTokens   *int
	Effort      string // in the provider's words
	Stop        []string
	Seed        *int64
	Choice      string // auto, none, required, or the name of a tool
	Parallel    *bool
	Output      json.RawMessage // the schema
}

// Turn is a message of a request. What the provider takes as one message may be several
// turns: an answer to a call is one.
type Turn struct {
	Role   llm.Role
	Text   string
	Media  []string // image, document, audio; a URL, or the base64 data
	Calls  []Call   // Args is one piece
	CallID string   // of an answer
	Opaque []string // as Part.Opaque
}

// Tool is a tool of a request.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage
}
