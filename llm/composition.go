package llm

// Composition says what a request was made of beside the prompt, the whole conversation and all tools. It has no content: that is in
// the log, in the configuration, or was meant for one request.
type Composition struct {
	// Context lists the context messages that were added, in their order.
	Context []ContextNote `json:"context,omitempty"`
	// LeftOut is how many messages of the conversation did not fit the context window, and Shortened how many were shown in part.
	LeftOut   int `json:"left_out,omitempty"`
	Shortened int `json:"shortened,omitempty"`
	// Withheld is how many tools of the agent were not offered in this request.
	Withheld int `json:"withheld_tools,omitempty"`
	// Overridden says that a plugin or a tool changed parameters of this request.
	Overridden bool `json:"overridden,omitempty"`
	// Member is the member of a pool of models that answered.
	Member string `json:"member,omitempty"`
}

// ContextNote is a context message of a request, without its content.
type ContextNote struct {
	Key    string `json:"key"`
	Source string `json:"source,omitempty"` // the plugin that added it, "tool:" with a tool's name, "client" or "runtime"
	Role   Role   `json:"role"`
	Target string `json:"target"` // system, session, conversation or suffix_system
	Tokens int    `json:"tokens"` // an estimate
}
