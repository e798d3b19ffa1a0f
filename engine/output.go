package engine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/schema"
)

// Output makes a run's answer a T. The zero value is ready:
//
//	var weather engine.Output[Weather]
//	res, err := rt.Run(ctx, awaken.RunRequest{OutputSchema: weather.Schema(), …}, nil)
//	…
//	w, err := weather.Decode(res)
//
// The schema is inferred like that of a tool's arguments: `json` tags name the properties,
// a `jsonschema` tag is a property's description.
type Output[T any] struct{}

// Schema returns the JSON Schema of T, for RunRequest.OutputSchema or
// AgentSpec.OutputSchema. It panics if there is none: that is a mistake in the program.
func (Output[T]) Schema() json.RawMessage {
	raw, err := schema.For(reflect.TypeFor[T]())
	if err != nil {
		panic(fmt.Sprintf("awaken: no schema for %v: %v", reflect.TypeFor[T](), err))
	}
	return raw
}

// Decode returns the run's answer. A run that did not come to its natural end has none.
func (Output[T]) Decode(res *awaken.RunResult) (T, error) {
	var v T
	if res == nil {
		return v, fmt.Errorf("output: %w: there is no result", awaken.ErrNotFound)
	}
	if len(res.StructuredOutput) == 0 {
		return v, fmt.Errorf("output of run %s: %w: the run ended with %s", res.RunID, awaken.ErrNotFound, res.Termination)
	}
	if err := json.Unmarshal(res.StructuredOutput, &v); err != nil {
		return v, fmt.Errorf("output of run %s: %w", res.RunID, err)
	}
	return v, nil
}

// OutputError says that the answer did not fit its schema, however often the model was
// told. The run fails with it.
type OutputError struct {
	Attempts int
	Answer   string // the last
	Err      error  // what was wrong with it
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("the answer does not fit the output schema after %d attempts: %s", e.Attempts, oneLine(e.Err))
}

// Unwrap returns what was wrong with the last answer.
func (e *OutputError) Unwrap() error { return e.Err }

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
