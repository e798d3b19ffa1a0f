package protocol

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// Access is who may use a route.
type Access uint8

const (
	Everyone Access = iota
	Readers         // who may read threads
	Runners         // who may run agents
	Admins
)

// String is the kind of key that it takes.
func (a Access) String() string { return [...]string{"everyone", "read", "run", "admin"}[a] }

// Route is one thing that a client can ask for. A server has one table of them, with its
// own routes and those of protocols: the handlers, who may use them, the limits that hold
// and the OpenAPI document all come from it.
type Route struct {
	Method string
	Path   string // as http.ServeMux has it; its parts in braces are ids, and checked to be
	Access Access
	// Handle answers. An error that is a [*Failure] is told to the client as it is.
	Handle func(c Call) error

	Summary  string
	Query    []Param
	Headers  []Param
	Body     any         // an example of the type of the request's body, or nil
	Replies  map[int]any // the types of the answers; nil is an answer without a body
	Failures []int       // statuses of errors, beside those that every route can have
	// Stream lets the answer take as long as it likes. It counts as a stream, not as a
	// request.
	Stream bool
	Events string // what the frames of a stream are, in words
	// EventSchema is what they are, if the OpenAPI document has a schema of that name.
	EventSchema string
	// Global means that the route is about the whole server. It needs a key that belongs to
	// no tenant.
	Global bool
	// Own has the route of a protocol work with the server's own threads instead of the
	// client's. It is Global.
	Own bool
	// Control means that the route of a protocol needs the control plane. A server that has
	// none, or hides it, does not have the route. It is Global.
	Control bool
}

var pathIDs = regexp.MustCompile(`\{(\w+)\}`)

// IDs returns the names of the parts of the path that are ids.
func (r *Route) IDs() []string {
	var out []string
	for _, m := range pathIDs.FindAllStringSubmatch(r.Path, -1) {
		out = append(out, m[1])
	}
	return out
}

// Param is a parameter. Its kind is string, integer, boolean, or the values it can have,
// as in "asc|desc".
type Param struct{ Name, Kind, Doc string }

// Values returns the values that a parameter can have, or nil if its kind is string or integer.
func (p Param) Values() []string {
	switch p.Kind {
	case "string", "integer":
		return nil
	case "boolean":
		return []string{"true", "false"}
	}
	return strings.Split(p.Kind, "|")
}

// Call is one request on its way through a route. The server implements it.
type Call interface {
	// Context is done when the client is gone or its time is up.
	Context() context.Context
	Request() *http.Request
	// Header is that of the answer.
	Header() http.Header
	// Tenant is what the client may see: its threads, runs and their queue.
	Tenant() *mailbox.Tenant
	// Agents are those that a new run can have, by id. They must not be changed.
	Agents() []*awaken.AgentSpec
	// Decode reads the body, which is JSON, into v. Unknown fields are refused, unless v
	// has an UnmarshalJSON of its own.
	Decode(v any) error
	// Reply answers with JSON. A nil body is no body.
	Reply(status int, body any) error
	// Submit stores input. It fails if the agent does not exist, and fills in what every
	// submission has: the request's id and its idempotency key.
	Submit(s *mailbox.Submission) (*mailbox.Receipt, error)
	// Preview makes a version that has an agent that nobody saved, for runs that name it.
	// Assistant does so for the server's own agent.
	Preview(agent []byte) (agentID, resolutionID string, err error)
	Assistant() (agentID, resolutionID string, err error)
	// Stream answers with a stream, until it is over or the client is gone.
	Stream(s *Stream) error
}
