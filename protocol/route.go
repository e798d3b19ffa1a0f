package protocol

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// Access says which clients may use a route.
type Access uint8

const (
	Everyone Access = iota
	Readers         // clients that may read threads
	Runners         // clients that may also run agents
	Admins
)

// String returns the kind of key that the access needs.
func (a Access) String() string { return [...]string{"everyone", "read", "run", "admin"}[a] }

// Route is one operation that a client can request. A server has one table of routes, its own and
// those of protocols. Dispatch, access control, limits and the OpenAPI document all come from it.
type Route struct {
	Method string
	Path   string // as in http.ServeMux; the server checks that its wildcards are ids
	Access Access
	// Handle answers a request. The client gets an error that is a [*Failure] as it is.
	Handle func(c Call) error

	Summary  string
	Query    []Param
	Headers  []Param
	Body     any         // a value of the body's type, or nil
	Replies  map[int]any // status -> a value of the body's type, or nil for none
	Failures []int       // statuses of errors beyond those that follow from the rest
	// Stream lifts the time limit of the response. It counts as a stream, not as a request.
	Stream bool
	Events string // describes the frames of a stream in words
	// EventSchema is the name of their schema, if the OpenAPI document has one.
	EventSchema string
	// Global means that the route concerns the whole server. It needs a key that belongs to no
	// tenant.
	Global bool
	// Own makes a protocol's route work with the server's own threads instead of the client's.
	// It implies Global.
	Own bool
	// Control means that a protocol's route needs the control plane. A server without one, or
	// with a hidden one, does not mount it. It implies Global.
	Control bool
}

var pathIDs = regexp.MustCompile(`\{(\w+)\}`)

// IDs returns the names of the ids in the path.
func (r *Route) IDs() []string {
	var out []string
	for _, m := range pathIDs.FindAllStringSubmatch(r.Path, -1) {
		out = append(out, m[1])
	}
	return out
}

// Param is a parameter in the query or a header. Its kind is string, integer, boolean, or the list of
// its values, such as "asc|desc". The server checks query parameters against their kind.
type Param struct{ Name, Kind, Doc string }

// Values returns the values that a parameter can take, or nil for kinds string and integer.
func (p Param) Values() []string {
	switch p.Kind {
	case "string", "integer":
		return nil
	case "boolean":
		return []string{"true", "false"}
	}
	return strings.Split(p.Kind, "|")
}

// Call is one request to a route. The server implements it.
type Call interface {
	// Context is done when the client disconnects or the request times out.
	Context() context.Context
	Request() *http.Request
	// Header returns the headers of the response.
	Header() http.Header
	// Tenant returns the client's tenant: its threads, runs and queue.
	Tenant() *mailbox.Tenant
	// Agents returns the agents that a new run can have, by id. They must not be changed.
	Agents() []*awaken.AgentSpec
	// Decode decodes the body, which is JSON, into v. Unknown fields are refused, unless v has an
	// UnmarshalJSON of its own.
	Decode(v any) error
	// Reply sends a response with body as JSON. A nil body sends none.
	Reply(status int, body any) error
	// Submit stores input. It fails if the agent does not exist. It fills in what every
	// submission has: the user, the request's id and the idempotency key.
	Submit(s *mailbox.Submission) (*mailbox.Receipt, error)
	// Preview makes a version with an agent that is not saved, for runs that name the version.
	// Assistant makes one with the admin assistant.
	Preview(agent []byte) (agentID, resolutionID string, err error)
	Assistant() (agentID, resolutionID string, err error)
	// Stream replies with a stream, until it is over or the client disconnects.
	Stream(s *Stream) error
}
