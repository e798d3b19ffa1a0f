package awaken

import (
	"fmt"

	"github.com/awaken-go/awaken/internal/schema"
)

// CheckOutput checks that the output schema, if any, can be used. Its errors are ErrInvalid.
func (r *RunRequest) CheckOutput() error {
	if len(r.OutputSchema) == 0 {
		return nil
	}
	_, err := schema.Compile(r.OutputSchema)
	if err == nil {
		_, err = schema.Clean(r.OutputSchema)
	}
	if err != nil {
		return fmt.Errorf("%w: output_schema: %w", ErrInvalid, err)
	}
	return nil
}

// FinalOutputTool is the id of the tool with which a model gives a structured answer, if its
// provider cannot enforce an output schema.
const FinalOutputTool = "final_output"
