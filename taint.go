package awaken

// Taint says which result made a run read untrusted content: text that its author may have written to
// instruct the model. A run is tainted by the result of a tool with ToolSpec.Untrusted, and stays
// tainted. So are the later runs of its thread and of the threads that are forked from it, the runs that it starts, the threads that it
// sends messages to, and the runs that take the results of any of these. Rules can ask a person before a tainted run does more than read; see package
// plugin/permission.
type Taint struct {
	RunID  string `json:"run_id"` // of the run that made the call
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	At     int64  `json:"at"` // Unix ms
}
