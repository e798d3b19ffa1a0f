package protocol

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/schema"
)

// IsApproval reports whether yes or no is a sufficient answer to the question of a suspended call: the
// call is made as it is, and the tool needs nothing more.
func IsApproval(mode awaken.ResumeMode, s *awaken.Suspension) bool {
	return (mode == awaken.ReplayToolCall || mode == "") && Fits(s, json.RawMessage(`{"approved":true}`))
}

// Fits reports whether an answer satisfies the response schema of a question.
func Fits(s *awaken.Suspension, answer json.RawMessage) bool {
	if s == nil || len(s.ResponseSchema) == 0 {
		return true
	}
	wanted, err := schema.Compile(s.ResponseSchema)
	return err == nil && wanted.Check(answer) == nil
}
