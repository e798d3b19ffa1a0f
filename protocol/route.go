package protocol

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server/access/permit"
)

// Scope says how a route keeps the users of a tenant apart. It concerns callers that are confined
// to what belongs to their user; operators may use every route.
type Scope uint8

const (
	// Undeclared is as Operators. Routes that only admins may use, and those for everyone, leave it so.
	Undeclared Scope = iota
	// ByPath means that the ids in the path, of a thread, a run or a dispatch, name what the route
	// is about. The server refuses other users' objects.
	ByPath
	// ByCaller means that the handler lists or makes what belongs to the caller's user. It checks
	// ids that a body or a query names with [Call.Admit].
	ByCaller
	Shared    // the route has nothing that belongs to a user
	Operators // the route is for callers that act for all users
)

// Route is one operation that a client can request. A server has one table of routes, its own and
// those of protocols. Dispatch, access control, limits and the OpenAPI document all come from it.
type Route struct {
	Method string
	Path   string // as in http.ServeMux; the server checks that its wildcards are ids
	// Needs is the permission that a caller must have. A server refuses a route that has none.
	Needs permit.Permission
	Scope Scope
	// Handle answers a request. The client gets an error that is a [*Failure] as it is.
	Handle func(c Call) error

	Summary  string
	Query    []Param
	Headers  []Param
	Body     any         // a value of the body's type, or nil
	Raw      bool        // the body is a file of any type, which the handler reads
	Replies  map[int]any // status -> a value of the body's type, or nil for none
	Failures []int       // statuses of errors beyond those that follow from the rest
	// Errors returns the body of an error response, in a form of the protocol, and may set another status. Nil means the server's.
	Errors func(f *Failure) any
	// Challenge, if not nil, returns what the header WWW-Authenticate of a response with status 401 says beside the realm.
	Challenge func(r *http.Request) string
	// Stream lifts the time limit of the response. It counts as a stream, not as a request.
	Stream bool
	// Brief, if not nil, reports that a request to a route with Stream is answered at once all the same. It counts as a request.
	Brief  func(r *http.Request) bool
	Events string // describes the frames of a stream in words, or after a # names their schema in the OpenAPI document
	// Own makes a protocol's route work with the server's own threads instead of the client's. Such a route
	// needs a permission that concerns the whole server.
	Own bool
	// Preview makes a route work with the threads of previews, which are apart from the threads of clients. It also needs a permission that
	// concerns the whole server.
	Preview bool
	// Control means that a protocol's route needs the control plane, and a permission that concerns the whole
	// server. A server without a control plane, or with a hidden one, does not mount it.
	Control bool
}

// Streams reports whether the response to a request counts as a stream.
func (r *Route) Streams(req *http.Request) bool {
	return r.Stream && (r.Brief == nil || !r.Brief(req))
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

// Param is a parameter in the query or a header. Its kind is string, integer, number, boolean, or the list of
// its values, such as "asc|desc". The server checks query parameters against their kind.
type Param struct{ Name, Kind, Doc string }

// Values returns the values that a parameter can take, or nil for kinds string, integer and number.
func (p Param) Values() []string {
	switch p.Kind {
	case "string", "integer", "number":
		return nil
	case "boolean":
		return []string{"true", "false"}
	}
	return strings.Split(p.Kind, "|")
}

// Call is one request to a route. The server implements it. A protocol that needs more of the server than others declares an
// interface of its own, and asserts that a call has it: a server's does.
type Call interface {
	Exchange
	View
	Work
}

// Exchange is a request of a client, and the response.
type Exchange interface {
	// Context is done when the client disconnects or the request times out.
	Context() context.Context
	Request() *http.Request
	// Header returns the headers of the response.
	Header() http.Header
	// Decode decodes the body, which is JSON, into v. Unknown fields are refused, unless v has an
	// UnmarshalJSON of its own.
	Decode(v any) error
	// Reply sends a response with body as JSON. A nil body sends none.
	Reply(status int, body any) error
	// Failure returns what the client sees of an error.
	Failure(err error) *Failure
	// Release gives back what the request holds while it is worked on: its body, and its turn among
	// others. A handler that waits calls it first; Stream and Wait do so themselves.
	Release()
	// Reserve takes memory for the response, of what all requests share, until the response was sent. It reports
	// whether there was enough.
	Reserve(bytes int64) bool
}

// View reads data as the client of a call may see it.
type View interface {
	// Tenant returns the client's tenant: its threads, runs and queue.
	Tenant() *mailbox.Tenant
	// Recent returns the end of a thread, with its last messages, or nil if the thread does not exist.
	// Submit does not read again what it needs of it.
	Recent(threadID string, messages int) (*mailbox.Recent, error)
	// Agents returns the agents that a new run can have, by id. They must not be changed.
	Agents() []*awaken.AgentSpec
	// Tools returns the tools that the catalogue of an agent offers, by id, or nil if there is no such agent.
	Tools(agentID string) []awaken.ToolSpec
	// Admit fails with status 404 if a thread or a run with one of the ids belongs to another user.
	// An id that names nothing is admitted. A handler calls it for the ids in a body, before it
	// looks at what they name. The server calls it for the ids in the path.
	Admit(ids ...string) error
	// Owner returns the user to filter lists by; nil means no filter, "" means no user.
	Owner() (*string, error)
}

// Work starts, feeds and stops runs for the client of a call.
type Work interface {
	// IdempotencyKey returns the key of the request's header, as submissions of the caller's user
	// have it, or "".
	IdempotencyKey() (string, error)
	// Submit stores input. It fails if the agent does not exist. It fills in what every
	// submission has: the user, the request's id and the idempotency key. One that s has is the
	// user's, as that of the request's header is, which replaces it.
	Submit(s *mailbox.Submission) (*mailbox.Receipt, error)
	// Stream replies with a stream, until it is over or the client disconnects.
	Stream(s *Stream) error
	// Wait returns the run that takes a submission once it has ended or waits. It fails if the run
	// takes longer than the server lets a client wait, and if the server stops.
	Wait(r *mailbox.Receipt) (*awaken.Run, error)
}
