package a2a

import (
	"errors"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// Config configures the protocol. The zero Config exposes every agent.
type Config struct {
	// Agents lists the IDs of the agents that clients may use; empty means all. Other agents are hidden.
	Agents []string
	// URL is the address of the server, as clients reach it. "" means the host that a request names.
	URL string
	// Version is the version of the agents, for their cards.
	Version string
	// RequireKey says that clients need a key, for the cards.
	RequireKey bool
	// ExtendedCardToken enables the extended agent card, for clients that have this token.
	ExtendedCardToken awaken.Secret
	// Hooks, if not nil, sends push notifications. Its Kinds must map [PushKind] to [Push].
	Hooks *deliver.Sender
	// CardKey is a private key in PEM (PKCS #8; Ed25519 or ECDSA P-256) that signs cards. It requires URL. If "", cards are not signed.
	CardKey awaken.Secret

	signer *signer
	pages  chan struct{} // has one for each page of tasks that is being made
}

// pushConfigs is the part of paths that are about the push configurations of a task.
const pushConfigs = "pushNotificationConfigs"

const events = "A2A stream responses: task, statusUpdate and artifactUpdate"

var (
	versionHeader = []protocol.Param{{Name: "A2A-Version", Kind: "string", Doc: "version of the protocol, 1.0"}}
	streamHeaders = append(versionHeader[:1:1], protocol.Param{Name: "Last-Event-ID", Kind: "string", Doc: "resume after this frame"})
	historyParam  = protocol.Param{Name: "historyLength", Kind: "integer", Doc: "maximum number of messages of the history; default all"}
	listParams    = []protocol.Param{
		{Name: "contextId", Kind: "string", Doc: "only tasks of this context"},
		{Name: "status", Kind: "string", Doc: "only tasks in this state, such as TASK_STATE_WORKING"},
		{Name: "pageSize", Kind: "integer", Doc: "maximum number of tasks, 1 to 100; default 50"},
		{Name: "pageToken", Kind: "string", Doc: "nextPageToken of the page before"},
		{Name: "historyLength", Kind: "integer", Doc: "maximum number of messages of each history; default 0"},
		{Name: "statusTimestampAfter", Kind: "string", Doc: "only tasks whose status is not older, such as 2026-01-31T12:00:00Z"},
		{Name: "includeArtifacts", Kind: "boolean", Doc: "include the artifacts"},
	}
)

// Routes returns the routes that a server mounts, or an error if the key of the cards is not valid or would sign addresses that clients choose.
func Routes(cfg Config) ([]protocol.Route, error) {
	var err error
	if cfg.signer, err = newSigner(cfg.CardKey); err != nil {
		return nil, err
	}
	if cfg.signer != nil && cfg.URL == "" {
		return nil, errors.New("a2a: cards are signed, but the address of the server (a2a_url) is not set: the key would sign every host that a request names")
	}
	cfg.pages = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
	c := &cfg
	get := func(path, summary string, query []protocol.Param, reply any, handle handler) protocol.Route {
		return protocol.Route{Method: "GET", Path: path, Needs: permit.ReadThreads, Scope: protocol.ByCaller, Handle: c.rest(handle), Summary: summary, Query: query, Headers: versionHeader,
			Replies: map[int]any{200: reply}, Failures: []int{400, 404}, Errors: fail}
	}
	post := func(path, summary string, body, reply any, handle handler) protocol.Route {
		return protocol.Route{Method: "POST", Path: path, Needs: permit.StartRuns, Scope: protocol.ByCaller, Handle: c.rest(handle), Summary: summary, Headers: streamHeaders, Body: body,
			Replies: map[int]any{200: reply}, Failures: []int{400, 404, 409}, Stream: true, Brief: brief, Events: events, Errors: fail}
	}
	follows := func(r protocol.Route) protocol.Route {
		r.Stream, r.Brief, r.Events, r.Headers = true, brief, events, streamHeaders
		return r
	}
	card := protocol.Route{Method: "GET", Path: "/.well-known/agent-card.json", Needs: permit.Public, Handle: c.rest(func(x *exchange, _ []string) error { return x.publicCard() }), Summary: "Get the card of the public agent",
		Replies: map[int]any{200: Card{}, 304: nil}, Failures: []int{404}, Errors: fail}
	extended := card
	extended.Path, extended.Summary, extended.Failures = "/v1/a2a/extendedAgentCard", "Get the card of all exposed agents", []int{400, 401, 429}
	extended.Handle = c.rest(func(x *exchange, _ []string) error { return x.extendedCard() })
	rpc := post("/v1/a2a", "Answer a JSON-RPC request", rpcRequest{}, rpcResponse{}, nil)
	rpc.Handle, rpc.Errors = func(call protocol.Call) error { return (&exchange{Call: call, cfg: c}).serveRPC() }, failRPC
	at := func(path ...string) handler { return func(x *exchange, _ []string) error { return x.route(path) } }
	onTask := func(x *exchange, _ []string) error {
		return x.route([]string{"tasks", x.Request().PathValue("task_id")})
	}
	onAgent := func(x *exchange, path []string) error { return x.forAgent(path) }
	del := get("/v1/a2a/{path...}", "Delete a push configuration: a path such as tasks/{task_id}/pushNotificationConfigs/{id}", nil, nil, onAgent)
	del.Method, del.Needs, del.Replies = "DELETE", permit.StartRuns, map[int]any{204: nil}
	return []protocol.Route{card, extended,
		post("/v1/a2a/message:send", "Send a message and wait for its task", sendRequest{}, update{}, at("message:send")),
		post("/v1/a2a/message:stream", "Send a message and stream its task", sendRequest{}, nil, at("message:stream")),
		get("/v1/a2a/tasks", "List tasks, the most recently updated first", listParams, taskList{}, at("tasks")),
		follows(get("/v1/a2a/tasks/{task_id}", "Get a task, or with :subscribe after its id, stream it", []protocol.Param{historyParam}, Task{}, onTask)),
		post("/v1/a2a/tasks/{task_id}", "Cancel a task with :cancel after its id, or stream it with :subscribe", nil, Task{}, onTask),
		rpc,
		follows(get("/v1/a2a/{path...}", "The same for the agent that the path begins with", listParams, nil, onAgent)),
		post("/v1/a2a/{path...}", "The same for the agent that the path begins with", sendRequest{}, nil, onAgent),
		del,
	}, nil
}

// brief reports that a request neither streams nor waits for a run: it reads or ends a task, or is about its push configurations.
func brief(r *http.Request) bool {
	path := strings.TrimSuffix(r.URL.Path, "/")
	return r.Method != http.MethodPost && !strings.HasSuffix(path, ":subscribe") || strings.HasSuffix(path, ":cancel") || strings.HasSuffix(path, "/"+pushConfigs)
}

// handler answers a request of the HTTP+JSON binding. The path is what follows /v1/a2a/ on the routes for all agents.
type handler func(x *exchange, path []string) error

func (c *Config) rest(h handler) func(protocol.Call) error {
	return func(call protocol.Call) error {
		x := &exchange{Call: call, cfg: c}
		return h(x, strings.Split(call.Request().PathValue("path"), "/"))
	}
}

// forAgent answers a request whose path begins with an agent. Without anything else, it is of JSON-RPC.
func (x *exchange) forAgent(path []string) error {
	if path[0] == "tasks" { // no route of its own has the rest of the path
		return x.route(path)
	}
	if path[0] != "" && !protocol.ValidID(path[0]) {
		return noAgent(path[0])
	}
	if err := x.address(path[0]); err != nil {
		return err
	}
	path = path[1:]
	if len(path) == 0 || len(path) == 1 && path[0] == "" {
		if x.Request().Method == http.MethodPost {
			return x.serveRPC()
		}
		return x.unknown()
	}
	return x.route(path)
}

func (x *exchange) unknown() error {
	r := x.Request()
	return failure(http.StatusNotFound, methodNotFound, "A2A has no operation %s %.80s", r.Method, r.URL.Path)
}

// route answers a request by its path below an interface.
func (x *exchange) route(path []string) error {
	if err := checkVersion(x); err != nil {
		return err
	}
	switch x.Request().Method + " " + path[0] {
	case "POST message:send", "POST message:stream":
		if len(path) == 1 {
			return x.post(path[0] == "message:stream")
		}
	case "GET extendedAgentCard":
		if len(path) == 1 {
			return x.extendedCard()
		}
	case "GET .well-known":
		if len(path) == 2 && path[1] == "agent-card.json" {
			return x.publicCard()
		}
	case "GET tasks", "POST tasks", "DELETE tasks":
		return x.onTasks(path[1:])
	}
	return x.unknown()
}

// post sends the message in the body.
func (x *exchange) post(streams bool) error {
	if err := checkContent(x); err != nil {
		return err
	}
	var in sendRequest
	if err := x.Decode(&in); err != nil {
		return err
	}
	return x.send(&in, streams)
}

// onTasks answers a request about tasks.
func (x *exchange) onTasks(path []string) error {
	method, query := x.Request().Method, x.Request().URL.Query()
	if err := x.address(query.Get("tenant")); err != nil {
		return err
	}
	switch {
	case len(path) == 0 && method == http.MethodGet:
		in, err := listQuery(query)
		if err != nil {
			return err
		}
		return x.list(in)
	case len(path) >= 2 && len(path) <= 3 && path[1] == pushConfigs:
		return pushes{x}.serve(path[0], path[2:])
	case len(path) != 1:
		return x.unknown()
	}
	if id, ok := strings.CutSuffix(path[0], ":subscribe"); ok && method != http.MethodDelete {
		return x.subscribe(id)
	}
	if id, ok := strings.CutSuffix(path[0], ":cancel"); ok && method == http.MethodPost {
		return x.cancel(id)
	}
	if method != http.MethodGet {
		return x.unknown()
	}
	length, err := number(query, "historyLength")
	if err != nil {
		return err
	}
	return x.get(path[0], length)
}

func number(query url.Values, name string) (*int, error) {
	text := strings.TrimSpace(query.Get(name))
	if text == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, protocol.BadRequest("%s is %.80q, want a whole number", name, text)
	}
	return &n, nil
}

func listQuery(query url.Values) (in *listRequest, err error) {
	in = &listRequest{ContextID: query.Get("contextId"), Status: State(query.Get("status")), PageToken: query.Get("pageToken"), StatusTimestampAfter: query.Get("statusTimestampAfter")}
	if in.PageSize, err = number(query, "pageSize"); err != nil {
		return nil, err
	}
	if in.HistoryLength, err = number(query, "historyLength"); err != nil {
		return nil, err
	}
	switch all := query.Get("includeArtifacts"); all {
	case "", "false":
	case "true":
		in.IncludeArtifacts = true
	default:
		return nil, protocol.BadRequest("includeArtifacts is %.80q, want true or false", all)
	}
	return in, nil
}
