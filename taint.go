package awaken

// Taint says which result made a run read untrusted content: text that its author may have written to instruct the
// model. A run is tainted by the result of a tool with ToolSpec.Untrusted, and stays tainted. Taint belongs to data: the later runs
// of the thread and of its forks are tainted, the runs that the run starts, the threads that it sends messages to, the runs that take
// the results of any of these, and the runs that read what it wrote to the profile or to a workspace. Rules can ask a person before a
// tainted run changes something or carries data out; see package plugin/permission.
type Taint struct {
	RunID  string `json:"run_id"` // of the run that made the call
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	At     int64  `json:"at" time:"ms"` // Unix ms; of the read, if ReadBy is set
	// ReadBy is the call with which the tainted run read what another run had kept in a store. It is "" if the run read the
	// result itself, or has it with its messages.
	ReadBy string `json:"read_by,omitempty"`
}
