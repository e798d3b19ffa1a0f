package awaken

import (
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/internal/schema"
)

// CheckOutputSchema says what is wrong with an output schema.
func CheckOutputSchema(raw json.RawMessage) error {
	_, err := schema.Compile(raw)
	if err == nil {
		_, err = schema.Clean(raw)
	}
	if err != nil {
		return fmt.Errorf("%w: output_schema: %w", ErrInvalid, err)
	}
	return nil
}

// FinalOutputTool is the tool by which a model gives an answer that is held to a schema,
// if its provider cannot hold answers to one.
const FinalOutputTool = "final_output"
