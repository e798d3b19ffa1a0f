package llm

import "time"

// Exchange is one request to a model and what came of it. It is valid during the call that it is an argument of.
type Exchange struct {
	Request *Request
	// Reply returns what the model has said. After a request for the rest of a reply it includes what came before.
	Reply  func() *Message
	Finish FinishReason // "" if the reply broke off
	Usage  Usage
	Err    error // why the model did not reply, or not to the end
	Ended  time.Time
}
