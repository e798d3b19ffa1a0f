package awaken

import (
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/internal/schema"
)

// CheckOutputSchema checks that raw can be used as an output schema. Its errors are ErrInvalid.
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

// FinalOutputTool is the id of the tool with which a model gives a structured answer, if its
// provider cannot enforce an output schema.
const FinalOutputTool = "final_output"
