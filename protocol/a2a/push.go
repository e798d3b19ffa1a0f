package a2a

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// pushConfig is a client's subscription to push notifications about a task. Secrets are not shown again.
type pushConfig struct {
	Tenant         string    `json:"tenant,omitempty"`
	ID             string    `json:"id,omitempty"` // default the id of the task
	TaskID         string    `json:"taskId,omitempty"`
	URL            string    `json:"url"`
	Token          string    `json:"token,omitempty"` // sent with every notification, and signs it
	Authentication *pushAuth `json:"authentication,omitempty"`
}

// pushAuth is how the receiver of notifications authenticates them.
type pushAuth struct {
	Scheme      string `json:"scheme"`
	Credentials string `json:"credentials,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (c *pushConfig) UnmarshalJSON(data []byte) error {
	type plain pushConfig
	return strict.UnmarshalKnown(data, (*plain)(c))
}

// pushParams name a configuration.
type pushParams struct {
	Tenant string `json:"tenant,omitempty"`
	TaskID string `json:"taskId"`
	ID     string `json:"id,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (p *pushParams) UnmarshalJSON(data []byte) error {
	type plain pushParams
	return strict.UnmarshalKnown(data, (*plain)(p))
}

// pushList is the configurations of a task.
type pushList struct {
	Configs       []pushConfig `json:"configs"`
	NextPageToken string       `json:"nextPageToken"` // always ""
}

// PushKind is the kind of hooks for push notifications, and Push makes their messages.
const PushKind = "a2a"

var Push = deliver.Kind{ContentType: "application/a2a+json", Messages: pushMessages}

const (
	maxPushConfigs = 10
	maxPushSecret  = 4096
	tokenHeader    = "X-A2A-Notification-Token"
)

// pusher collects what a receiver is told: each new state of a task, and before the states in which a client looks at them, the artifacts
// that have changed. Pieces of an answer are for streams.
type pusher struct {
	task    *projection
	changed []string // ids of artifacts
	out     []update
}

func (p *pusher) status(s *Status) {
	if s.State.Terminal() || s.State.Interrupted() {
		for _, a := range p.task.outputs() {
			for _, id := range p.changed {
				if a.ArtifactID == id {
					p.out = append(p.out, update{ArtifactUpdate: &artifactUpdate{TaskID: p.task.taskID, ContextID: p.task.contextID, Artifact: a, LastChunk: s.State.Terminal()}})
				}
			}
		}
		p.changed = nil
	}
	p.out = append(p.out, update{StatusUpdate: &statusUpdate{TaskID: p.task.taskID, ContextID: p.task.contextID, Status: *s}})
}

func (p *pusher) text(string, bool, bool) { p.artifact(&Artifact{ArtifactID: responseID}) }

func (p *pusher) artifact(a *Artifact) {
	for _, id := range p.changed {
		if id == a.ArtifactID {
			return
		}
	}
	p.changed = append(p.changed, a.ArtifactID)
}

// pushMessages returns the notifications about a run.
func pushMessages(_ *webhook.Hook, run *awaken.Run, entries []awaken.Entry) ([][]byte, error) {
	p := new(pusher)
	p.task = newProjection(p, run.RunID, run.ThreadID)
	for i := range entries {
		p.task.apply(&entries[i])
	}
	if run.Status == awaken.RunDone { // a run that was never begun has no entries
		p.task.set(statusOf(run))
	}
	out := make([][]byte, len(p.out))
	for i, u := range p.out {
		data, err := json.Marshal(u)
		if err != nil {
			return nil, err
		}
		out[i] = data
	}
	return out, nil
}

// pushes answers the part of a request that is about push configurations.
type pushes struct{ *exchange }

// check checks a configuration.
func (x pushes) check(c *pushConfig, field string) error {
	if x.cfg.Hooks == nil {
		return noPush()
	}
	if err := protocol.CheckID(field+"id", c.ID); err != nil {
		return err
	}
	if err := x.cfg.Hooks.CheckURL(c.URL); err != nil {
		return protocol.BadRequest("%s%v", field, err)
	}
	if !isHeader(c.Token) {
		return protocol.BadRequest("%stoken has %d bytes, want at most %d of ASCII without control characters", field, len(c.Token), maxPushSecret)
	}
	if a := c.Authentication; a != nil && (a.Scheme == "" || strings.ContainsAny(a.Scheme, " \t") || !isHeader(a.Scheme) || !isHeader(a.Credentials)) {
		return protocol.BadRequest("%sauthentication is not valid, want a scheme such as Bearer and at most %d bytes of credentials, in ASCII without control characters", field, maxPushSecret)
	}
	if err := x.cfg.Hooks.CheckTarget(c.target()); err != nil {
		return protocol.BadRequest("%stoken or authentication cannot be stored: %v", field, err)
	}
	return nil
}

// isHeader reports whether a text can be sent in a header.
func isHeader(s string) bool {
	return len(s) <= maxPushSecret && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f })
}

// target returns where notifications are sent.
func (c *pushConfig) target() webhook.Target {
	target := webhook.Target{URL: c.URL, Headers: map[string]string{}, Secret: c.Token}
	if c.Token != "" {
		target.Headers[tokenHeader] = c.Token
	}
	if a := c.Authentication; a != nil {
		target.Headers["Authorization"] = strings.TrimSpace(a.Scheme + " " + a.Credentials)
	}
	return target
}

// hook returns the hook of a configuration.
func (x pushes) hook(c *pushConfig, run *awaken.Run) *webhook.Hook {
	return &webhook.Hook{Tenant: x.Tenant().Name(), RunID: run.RunID, ID: cmp.Or(c.ID, run.RunID),
		State: webhook.State{Kind: PushKind, Target: c.target()}}
}

// shownConfig returns a hook as clients see it.
func shownConfig(h *webhook.Hook) pushConfig {
	c := pushConfig{ID: h.ID, TaskID: h.RunID, URL: h.Target.URL}
	if scheme, _, _ := strings.Cut(h.Target.Headers["Authorization"], " "); scheme != "" {
		c.Authentication = &pushAuth{Scheme: scheme}
	}
	return c
}

// of returns the hooks of a task.
func (x pushes) of(taskID string) (*awaken.Run, []*webhook.Hook, error) {
	run, err := x.run(taskID)
	if err != nil {
		return nil, nil, err
	}
	all, err := x.cfg.Hooks.Of(x.Context(), x.Tenant().Name(), run.RunID)
	var out []*webhook.Hook
	for _, h := range all {
		if h.Kind == PushKind {
			out = append(out, h)
		}
	}
	return run, out, err
}

// set stores a configuration for what happens from now on.
func (x pushes) set(c *pushConfig) error {
	if err := x.check(c, ""); err != nil {
		return err
	}
	run, hooks, err := x.of(c.TaskID)
	if err != nil {
		return err
	}
	h := x.hook(c, run)
	if err := checkRoom(h, hooks); err != nil {
		return err
	}
	if h.Sent, err = x.toldUntil(run, nil); err != nil {
		return err
	}
	if err := x.cfg.Hooks.Set(x.Context(), h); err != nil {
		return err
	}
	return x.reply(shownConfig(h))
}

// checkRoom refuses one configuration too many.
func checkRoom(h *webhook.Hook, hooks []*webhook.Hook) error {
	for _, old := range hooks {
		if old.ID == h.ID {
			return nil
		}
	}
	if len(hooks) >= maxPushConfigs {
		return protocol.BadRequest("task %s has %d push configurations, the maximum; delete one first", h.RunID, len(hooks))
	}
	return nil
}

// room refuses a message whose configuration is one too many, before it is taken.
func (x pushes) room(c *pushConfig, run *awaken.Run) error {
	if c == nil {
		return nil
	}
	h := x.hook(c, run)
	old, err := x.cfg.Hooks.Of(x.Context(), h.Tenant, h.RunID)
	if err != nil {
		return err
	}
	return checkRoom(h, old)
}

// toldUntil returns how many messages there are for receivers, of the entries up to a cursor, if there is one.
func (x pushes) toldUntil(run *awaken.Run, until *awaken.Cursor) (int, error) {
	entries, err := x.Tenant().Store.Entries(x.Context(), run.ThreadID, awaken.EntryQuery{RunID: run.RunID})
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return 0, err
	}
	if until != nil {
		n := 0
		for n < len(entries) && entries[n].Seq <= until.Seq {
			n++
		}
		entries = entries[:n]
		open := *run
		open.Status = awaken.RunRunning
		run = &open
	}
	messages, err := pushMessages(nil, run, entries)
	return len(messages), err
}

// sent stores the configuration that a message has, for what follows the message, and wakes those that its task has.
func (x pushes) sent(c *pushConfig, r *mailbox.Receipt, started bool) error {
	hooks := x.cfg.Hooks
	if hooks == nil {
		return nil
	}
	if c == nil {
		if started {
			return nil
		}
		return hooks.Wake(x.Context(), x.Tenant().Name(), r.RunID)
	}
	run := &awaken.Run{RunID: r.RunID, ThreadID: r.ThreadID}
	h := x.hook(c, run)
	if !started {
		old, err := hooks.Of(x.Context(), h.Tenant, h.RunID)
		if err != nil {
			return err
		}
		if err := checkRoom(h, old); err != nil {
			return err
		}
		if h.Sent, err = x.toldUntil(run, &r.After); err != nil {
			return err
		}
	}
	return hooks.Set(x.Context(), h)
}

// get replies with a configuration.
func (x pushes) get(p *pushParams) error {
	_, hooks, err := x.of(p.TaskID)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		if h.ID == cmp.Or(p.ID, p.TaskID) {
			return x.reply(shownConfig(h))
		}
	}
	return noConfig(p)
}

func noConfig(p *pushParams) error {
	return failure(http.StatusNotFound, taskNotFound, "task %.80s has no push configuration %.80s", p.TaskID, p.ID)
}

// list replies with the configurations of a task.
func (x pushes) list(p *pushParams) error {
	_, hooks, err := x.of(p.TaskID)
	if err != nil {
		return err
	}
	out := pushList{Configs: []pushConfig{}}
	for _, h := range hooks {
		out.Configs = append(out.Configs, shownConfig(h))
	}
	return x.reply(out)
}

// remove deletes a configuration. One that does not exist is deleted already.
func (x pushes) remove(p *pushParams) error {
	if p.ID == "" {
		return protocol.BadRequest("id is missing, want the id of a push configuration")
	}
	run, err := x.run(p.TaskID)
	if err != nil {
		return err
	}
	if err := x.cfg.Hooks.Remove(x.Context(), x.Tenant().Name(), run.RunID, p.ID); err != nil {
		return err
	}
	if x.rpc != nil {
		return x.reply(struct{}{})
	}
	return x.Reply(http.StatusNoContent, nil)
}

// serve answers a request of the HTTP+JSON binding about the configurations of a task. The path follows the id of the task.
func (x pushes) serve(taskID string, path []string) error {
	if x.cfg.Hooks == nil {
		return noPush()
	}
	p := &pushParams{TaskID: taskID}
	if len(path) > 0 {
		p.ID = path[0]
	}
	switch method := x.Request().Method; {
	case method == http.MethodPost && len(path) == 0:
		if err := checkContent(x); err != nil {
			return err
		}
		var in pushConfig
		if err := x.Decode(&in); err != nil {
			return err
		}
		var err error
		if in.TaskID, err = protocol.Either("taskId", in.TaskID, taskID); err != nil {
			return err
		}
		if err := x.address(in.Tenant); err != nil {
			return err
		}
		return x.set(&in)
	case method == http.MethodGet && len(path) == 0:
		return x.list(p)
	case method == http.MethodGet:
		return x.get(p)
	case method == http.MethodDelete && len(path) == 1:
		return x.remove(p)
	}
	return x.unknown()
}

// call answers a JSON-RPC request about configurations.
func (x pushes) call(req *rpcRequest) error {
	if x.cfg.Hooks == nil {
		return noPush()
	}
	if req.Method == "CreateTaskPushNotificationConfig" {
		var in pushConfig
		if err := req.params(&in); err != nil {
			return err
		}
		if err := x.address(in.Tenant); err != nil {
			return err
		}
		return x.set(&in)
	}
	var in pushParams
	if err := req.params(&in); err != nil {
		return err
	}
	if err := x.address(in.Tenant); err != nil {
		return err
	}
	switch req.Method {
	case "ListTaskPushNotificationConfigs":
		return x.list(&in)
	case "DeleteTaskPushNotificationConfig":
		return x.remove(&in)
	}
	return x.get(&in)
}

var _ sink = (*pusher)(nil)
