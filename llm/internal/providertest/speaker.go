package providertest

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// Adapter is the adapter under test.
type Adapter struct {
	// Open returns a model with the configuration c, which has an API key.
	Open func(t testing.TB, c provider.Config) llm.Model
	Speaker
	// Provider is the provider's name in the adapter's opaque data.
	Provider string
	// Model is the model to request. It is a reasoning model.
	Model string
	// Cannot lists what the provider does not support; the suite skips the cases that need it.
	Cannot []Power
}

// Power is a feature that not all providers have.
type Power string

const (
	Seed             Power = "seed"              // requests have a seed
	Stop             Power = "stop"              // requests have stop sequences
	Effort           Power = "effort"            // requests have a reasoning effort
	Parallel         Power = "parallel"          // parallel calls can be switched off
	Choice           Power = "choice"            // requests can force a tool call
	Output           Power = "output"            // output schemas are enforced
	CacheKey         Power = "cache key"         // requests name a prompt cache
	CacheMarks       Power = "cache marks"       // requests mark what to cache
	Images           Power = "images"            // users can send images
	ImageURLs        Power = "image urls"        // by their URL
	Documents        Power = "documents"         // users can send PDFs
	Audio            Power = "audio"             // users can send audio
	ToolImages       Power = "tool images"       // tools can return images, in their result or directly after it
	Opaque           Power = "opaque"            // thinking has opaque data
	Reasoning        Power = "reasoning"         // thinking is readable
	ArgumentText     Power = "argument text"     // arguments are text and may be invalid
	Interleaved      Power = "interleaved"       // the arguments of several calls may be interleaved
	CallIDs          Power = "call ids"          // calls have ids
	Comments         Power = "comments"          // streams may contain comments
	FinishSays       Power = "finish says"       // a stream has a finish that may be missing
	Filter           Power = "filter"            // a content filter may end a stream
	CachedTokens     Power = "cached tokens"     // usage counts them
	ThinkingTokens   Power = "thinking tokens"   // usage counts them
	MidStreamErrors  Power = "mid-stream errors" // a stream may contain an error
	LateInstructions Power = "late instructions" // system messages may follow others
)

// Speaker is the provider's side of the wire.
type Speaker interface {
	// Speak returns the frames of a reply as the provider writes them: those with its parts,
	// and those with its end, without which the reply is incomplete. A frame is one event.
	Speak(r Reply) (parts, end [][]byte)
	// ErrorFrame returns the frame of an error inside a stream.
	ErrorFrame(f Failure) []byte
	// ErrorBody returns the body of a response with an error status.
	ErrorBody(f Failure) []byte
	// Read decodes a request. It is strict: it returns an error for a request that the provider
	// would reject.
	Read(r *http.Request, body []byte) (*Asked, error)
}

// Reply is the reply of a provider.
type Reply struct {
	Parts  []Part
	Usage  *llm.Usage
	Finish llm.FinishReason // "" means a content filter
}

// Part is a piece of a reply: one of its fields is set.
type Part struct {
	Reasoning []string // in pieces
	Opaque    string   // of the reasoning before it, which ends
	Text      []string // in pieces
	Call      *Call
	Mixed     []Call // calls whose arguments are interleaved
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

// Asked is a decoded request.
type Asked struct {
	Model    string
	System   string // instructions outside the conversation
	Turns    []Turn
	Tools    []Tool
	Stream   bool
	Key      string // the API key
	CacheKey string
	Cached   int // how many parts are marked for the prompt cache

	Temperature *float64
	TopP        *float64
	MaxTokens   *int
	Effort      string // in the provider's terms
	Stop        []string
	Seed        *int64
	Choice      string // auto, none, required, or the name of a tool
	Parallel    *bool
	Output      json.RawMessage // the schema
}

// Turn is a message of a request. One message of the provider may be several turns: every tool
// result is one.
type Turn struct {
	Role   llm.Role
	Text   string
	Media  []string // image, document, audio; a URL, or the base64 data
	Calls  []Call   // Args is one piece
	CallID string   // of a tool result
	Opaque []string // as Part.Opaque
}

// Tool is a tool of a request.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage
}
