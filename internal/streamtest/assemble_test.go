package streamtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
)

// object is the data of a frame.
type object = map[string]any

// client puts the frames of a protocol together, as its clients do.
type client interface {
	take(id, event string, data object) error
	// shows returns what the client has in the end.
	shows() any
}

// assemble returns a client that has put frames together.
func assemble(name, text string) (client, error) {
	var c client
	switch name {
	case "native":
		c = &transcript{}
	case "ai-sdk":
		c = &message{meta: object{}}
	case "ag-ui":
		c = &page{}
	case "a2a":
		c = &task{artifacts: object{}}
	case "responses":
		c = &response{}
	case "chat":
		c = &completion{}
	default:
		c = &call{progress: -1}
	}
	for f := range strings.SplitSeq(text, "\n\n") {
		id, event, data := "", "", ""
		for line := range strings.Lines(f + "\n") {
			line = strings.TrimSuffix(line, "\n")
			if v, ok := strings.CutPrefix(line, "id: "); ok {
				id = v
			} else if v, ok := strings.CutPrefix(line, "event: "); ok {
				event = v
			} else if v, ok := strings.CutPrefix(line, "data: "); ok {
				data += v
			}
		}
		if data == "" || data == "[DONE]" {
			continue
		}
		var o object
		dec := json.NewDecoder(strings.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(&o); err != nil {
			return nil, fmt.Errorf("%w: %s", err, f)
		}
		if err := c.take(id, event, o); err != nil {
			return nil, fmt.Errorf("%w: %s", err, f)
		}
	}
	return c, nil
}

// shown returns what a client shows, as text.
func shown(c client) string {
	out, err := json.MarshalIndent(c.shows(), "", " ")
	if err != nil {
		panic(err)
	}
	return string(out)
}

func str(v any) string { s, _ := v.(string); return s }

// transcript is what a client of the run's own events has: a stream_reset takes back what is after its cursor.
type transcript struct {
	seqs   []uint64
	events []any
}

func (t *transcript) take(id, event string, data object) error {
	if event == "error" {
		return fmt.Errorf("an error: %v", data)
	}
	payload, _ := data["payload"].(object)
	if payload["event_type"] == "stream_reset" && str(payload["cursor"]) != "" {
		back, err := awaken.ParseCursor(str(payload["cursor"]))
		if err != nil {
			return err
		}
		n := 0
		for n < len(t.seqs) && t.seqs[n] <= back.Seq {
			n++
		}
		t.seqs, t.events = t.seqs[:n], t.events[:n]
		return nil
	}
	at, err := awaken.ParseCursor(id)
	if err != nil {
		return err
	}
	if n := len(t.seqs); n > 0 && at.Seq <= t.seqs[n-1] {
		return fmt.Errorf("%s follows %d", at, t.seqs[n-1])
	}
	t.seqs, t.events = append(t.seqs, at.Seq), append(t.events, payload)
	return nil
}

func (t *transcript) shows() any { return t.events }

// message is the message of a client of AI SDK, put together as the ai package does it: a start changes nothing, parts stay
// where they are, data parts with an ID are replaced in place, and calls are looked up in the current step first. A page shows
// what visible leaves of it. Only a client that resumes can see a data-stream-reset before a start: all that it has is void.
type message struct {
	parts []object
	open  map[string]object // texts and reasoning that are streamed
	reset bool              // the last chunk is a data-stream-reset
	meta  object
}

// find returns the latest part with a value of a key.
func find(parts []object, key, value string) object {
	for _, p := range slices.Backward(parts) {
		if p[key] == value {
			return p
		}
	}
	return nil
}

// step returns the parts of the current step.
func (m *message) step() []object {
	for i, p := range slices.Backward(m.parts) {
		if p["kind"] == "step" {
			return m.parts[i+1:]
		}
	}
	return m.parts
}

func (m *message) add(p object) object {
	m.parts = append(m.parts, p)
	return p
}

func (m *message) take(_, _ string, data object) error {
	kind, id := str(data["type"]), str(data["id"])
	reset := m.reset
	m.reset = kind == "data-stream-reset"
	switch {
	case data["transient"] == true:
	case kind == "start":
		if reset {
			*m = message{meta: object{}}
		}
	case kind == "start-step":
		m.add(object{"kind": "step"})
	case kind == "finish-step":
		m.open = nil
	case strings.HasPrefix(kind, "data-"):
		p := object(nil)
		if id != "" {
			p = find(m.parts, "data", kind+" "+id)
		}
		if p == nil {
			p = m.add(object{"kind": kind})
		}
		if p["of"] = data; id != "" {
			p["data"] = kind + " " + id
		}
	case kind == "file", strings.HasPrefix(kind, "source-"):
		m.add(object{"kind": kind, "of": data})
	case strings.HasPrefix(kind, "text-"), strings.HasPrefix(kind, "reasoning-"):
		return m.say(kind, id, data)
	case strings.HasPrefix(kind, "tool-"):
		return m.call(kind, str(data["toolCallId"]), data)
	default: // finish, message-metadata, error, abort
		m.meta[kind] = data
	}
	return nil
}

// say takes a chunk of a text or of reasoning.
func (m *message) say(kind, id string, data object) error {
	name, what, _ := strings.Cut(kind, "-")
	if m.open == nil {
		m.open = map[string]object{}
	}
	if what == "start" {
		m.open[name+id] = m.add(object{"kind": name, "text": ""})
	}
	p := m.open[name+id]
	if p == nil {
		return fmt.Errorf("no part %s %s is open", name, id)
	}
	if p["text"] = str(p["text"]) + str(data["delta"]); what == "end" {
		delete(m.open, name+id)
	}
	return nil
}

// call takes a chunk about a call.
func (m *message) call(kind, id string, data object) error {
	p := find(m.step(), "call", id)
	begins := kind == "tool-input-start" || kind == "tool-input-available" || kind == "tool-input-error"
	switch {
	case p == nil && begins:
		p = m.add(object{"kind": "tool", "call": id})
	case p == nil && kind != "tool-input-delta":
		p = find(m.parts, "call", id)
	}
	if p == nil {
		return fmt.Errorf("no call %s", id)
	}
	switch kind {
	case "tool-input-start":
		p["input"] = ""
	case "tool-input-delta":
		p["input"] = str(p["input"]) + str(data["inputTextDelta"])
	case "tool-input-available", "tool-input-error":
		p["input"] = data["input"]
		fallthrough
	default:
		delete(data, "input")
		p["last"] = data
	}
	return nil
}

// visible returns the parts that a page shows: a data-stream-reset voids the parts of its step before it, except for data
// parts with an ID. Steps that have no parts show nothing.
func (m *message) visible() (out []object) {
	step := 0
	for _, p := range m.parts {
		switch p["kind"] {
		case "data-stream-reset":
			kept := slices.DeleteFunc(slices.Clone(out[step:]), func(p object) bool { return p["data"] == nil })
			out = append(out[:step], kept...)
			continue
		case "step":
			step = len(out)
		}
		out = append(out, p)
	}
	return out
}

// shows returns the parts of each step, and the data parts that have IDs apart: where they are is of no meaning.
func (m *message) shows() any {
	data, steps := object{}, [][]object{nil}
	for _, p := range m.visible() {
		n := len(steps) - 1
		switch {
		case p["data"] != nil:
			data[str(p["data"])] = p["of"]
		case p["kind"] != "step":
			steps[n] = append(steps[n], p)
		case len(steps[n]) > 0:
			steps = append(steps, nil)
		}
	}
	return object{"steps": steps, "data": data, "meta": m.meta}
}

// says returns the text that the page shows.
func (m *message) says() (text string) {
	for _, p := range m.visible() {
		if p["kind"] == "text" {
			text += str(p["text"])
		}
	}
	return text
}

// page is what a client of AG-UI has: messages, activities, the state, and how the run ended.
type page struct {
	messages   []object
	activities []object
	state, end any
}

// find returns a message, which is made if there is none.
func (p *page) find(id, role string) object {
	for _, m := range p.messages {
		if m["id"] == id {
			return m
		}
	}
	m := object{"id": id, "role": role}
	p.messages = append(p.messages, m)
	return m
}

// called returns a call.
func (p *page) called(id any) object {
	for _, m := range slices.Backward(p.messages) {
		calls, _ := m["toolCalls"].([]any)
		for _, c := range slices.Backward(calls) {
			if c.(object)["id"] == id {
				return c.(object)["function"].(object)
			}
		}
	}
	return nil
}

func (p *page) take(_, _ string, data object) (err error) {
	id := str(data["messageId"])
	switch kind := str(data["type"]); kind {
	case "RUN_STARTED":
		p.end = nil
	case "TEXT_MESSAGE_START":
		p.find(id, "assistant")
	case "REASONING_MESSAGE_START":
		p.find(id, "reasoning")
	case "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT":
		m := p.find(id, "assistant")
		m["content"] = str(m["content"]) + str(data["delta"])
	case "REASONING_ENCRYPTED_VALUE":
		if data["subtype"] == "message" {
			p.find(str(data["entityId"]), "reasoning")["encryptedValue"] = data["encryptedValue"]
		}
	case "TOOL_CALL_START":
		m := p.find(str(data["parentMessageId"]), "assistant")
		calls, _ := m["toolCalls"].([]any)
		m["toolCalls"] = append(calls, object{"id": data["toolCallId"], "type": "function", "function": object{"name": data["toolCallName"], "arguments": ""}})
	case "TOOL_CALL_ARGS":
		c := p.called(data["toolCallId"])
		if c == nil {
			return fmt.Errorf("no call %v", data["toolCallId"])
		}
		c["arguments"] = str(c["arguments"]) + str(data["delta"])
	case "TOOL_CALL_RESULT":
		m := p.find(id, "tool")
		m["toolCallId"], m["content"] = data["toolCallId"], data["content"]
	case "MESSAGES_SNAPSHOT":
		p.snapshot(data["messages"].([]any))
	case "STATE_SNAPSHOT":
		p.state = data["snapshot"]
	case "STATE_DELTA":
		p.state, err = patched(p.state, data["delta"])
	case "ACTIVITY_SNAPSHOT":
		p.activities = slices.DeleteFunc(p.activities, func(a object) bool { return a["id"] == id })
		p.activities = append(p.activities, object{"id": id, "type": data["activityType"], "content": data["content"]})
	case "ACTIVITY_DELTA":
		for _, a := range p.activities {
			if a["id"] == id {
				a["content"], err = patched(a["content"], data["patch"])
			}
		}
	case "RUN_FINISHED", "RUN_ERROR":
		p.end = data
	}
	return err
}

// snapshot replaces the messages. A client keeps reasoning that a snapshot lacks, unless the snapshot has other reasoning.
func (p *page) snapshot(list []any) {
	reasons := slices.ContainsFunc(list, func(m any) bool { return m.(object)["role"] == "reasoning" })
	var next []object
	for _, m := range p.messages {
		if m["role"] == "reasoning" && !reasons {
			next = append(next, m)
		}
	}
	p.messages = next
	for _, m := range list {
		p.messages = append(p.messages, m.(object))
	}
}

// shows returns the messages of the run in an order that does not depend on snapshots, with arguments as values.
func (p *page) shows() any {
	out := map[string]object{}
	for _, m := range p.messages {
		if m["role"] == "user" || m["role"] == "system" || m["role"] == "reasoning" && str(m["content"]) == "" && m["encryptedValue"] == nil {
			continue
		}
		calls, _ := m["toolCalls"].([]any)
		for _, c := range calls {
			f := c.(object)["function"].(object)
			var v any
			if json.Unmarshal([]byte(str(f["arguments"])), &v) == nil {
				f["arguments"] = v
			}
		}
		if str(m["content"]) == "" {
			delete(m, "content")
		}
		if len(m) > 2 { // more than its id and role
			out[str(m["id"])] = m
		}
	}
	return object{"messages": out, "activities": p.activities, "state": p.state, "end": p.end}
}

// patched applies a JSON Patch of adds, replacements and removals.
func patched(doc any, ops any) (any, error) {
	for _, op := range ops.([]any) {
		op := op.(object)
		path := strings.Split(str(op["path"]), "/")[1:]
		if len(path) == 0 {
			doc = op["value"]
			continue
		}
		var err error
		if doc, err = change(doc, path, str(op["op"]), op["value"]); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

func change(doc any, path []string, op string, value any) (any, error) {
	key := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	switch doc := doc.(type) {
	case object:
		if len(path) > 1 {
			v, err := change(doc[key], path[1:], op, value)
			doc[key] = v
			return doc, err
		}
		if op == "remove" {
			delete(doc, key)
		} else {
			doc[key] = value
		}
		return doc, nil
	case []any:
		i, err := strconv.Atoi(key)
		if key == "-" {
			i, err = len(doc), nil
		}
		switch {
		case err != nil || i > len(doc):
			return nil, fmt.Errorf("no element %q", key)
		case len(path) > 1:
			doc[i], err = change(doc[i], path[1:], op, value)
			return doc, err
		case op == "add":
			return slices.Insert(doc, i, value), nil
		case op == "remove":
			return slices.Delete(doc, i, i+1), nil
		}
		doc[i] = value
		return doc, nil
	}
	return nil, fmt.Errorf("nothing at %q", key)
}

// task is what a client of A2A has.
type task struct {
	status    any
	artifacts object
}

func (t *task) take(_, event string, data object) error {
	if event == "error" {
		return fmt.Errorf("an error: %v", data)
	}
	if whole, ok := data["task"].(object); ok {
		t.status, t.artifacts = whole["status"], object{}
		list, _ := whole["artifacts"].([]any)
		for _, a := range list {
			t.artifacts[str(a.(object)["artifactId"])] = a
		}
	}
	if u, ok := data["statusUpdate"].(object); ok {
		t.status = u["status"]
	}
	if u, ok := data["artifactUpdate"].(object); ok {
		a := u["artifact"].(object)
		id := str(a["artifactId"])
		old, _ := t.artifacts[id].(object)
		if u["append"] == true && old == nil {
			return fmt.Errorf("nothing to append to: %s", id)
		}
		if u["append"] == true {
			a["parts"] = append(old["parts"].([]any), a["parts"].([]any)...)
		}
		t.artifacts[id] = a
	}
	return nil
}

// shows joins the texts of artifacts: an artifact that has none is as good as none.
func (t *task) shows() any {
	out := object{}
	for id, a := range t.artifacts {
		text, rest := "", []any{}
		for _, p := range a.(object)["parts"].([]any) {
			if s, ok := p.(object)["text"].(string); ok {
				text += s
			} else {
				rest = append(rest, p)
			}
		}
		if text != "" || len(rest) > 0 {
			out[id] = object{"text": text, "rest": rest}
		}
	}
	return object{"status": t.status, "artifacts": out}
}

// response is what a client of Responses has: the last event that has the response has the whole of it. Numbers increase.
type response struct {
	last object
	num  int64
}

func (r *response) take(_, event string, data object) error {
	if event == "error" {
		return fmt.Errorf("an error: %v", data)
	}
	n, _ := data["sequence_number"].(json.Number)
	num, _ := n.Int64()
	if data["type"] != "response.created" && num <= r.num {
		return fmt.Errorf("number %d after %d", num, r.num)
	}
	r.num = num
	if whole, ok := data["response"].(object); ok {
		r.last = whole
	}
	return nil
}

func (r *response) shows() any { return r.last }

// retracted is what a completion shows that cannot go on, because its text was lost.
const retracted = `"stream_reset"`

// completion is what a client of Chat Completions has.
type completion struct {
	code            any
	content, reason string
	calls, rest     []any
}

func (c *completion) take(_, _ string, data object) error {
	if e, ok := data["error"].(object); ok {
		c.code = e["code"]
		return nil
	}
	choices, _ := data["choices"].([]any)
	for _, choice := range choices {
		choice := choice.(object)
		delta, _ := choice["delta"].(object)
		c.content += str(delta["content"])
		c.reason += str(delta["reasoning_content"])
		if calls, ok := delta["tool_calls"].([]any); ok {
			c.calls = append(c.calls, calls...)
		}
		if choice["finish_reason"] != nil {
			c.rest = append(c.rest, choice["finish_reason"])
		}
	}
	if data["usage"] != nil {
		c.rest = append(c.rest, data["usage"])
	}
	return nil
}

func (c *completion) shows() any {
	if c.code == "stream_reset" {
		return c.code
	}
	return []any{c.content, c.reason, c.calls, c.rest, c.code}
}

// call is what a client of MCP has: the result. Progress increases.
type call struct {
	progress float64
	result   any
}

func (c *call) take(_, _ string, data object) error {
	if data["method"] == "notifications/progress" {
		n, _ := data["params"].(object)["progress"].(json.Number)
		v, err := n.Float64()
		if err != nil || v <= c.progress {
			return fmt.Errorf("progress %v after %v", n, c.progress)
		}
		c.progress = v
	}
	if data["id"] != nil {
		c.result = data
	}
	return nil
}

func (c *call) shows() any { return c.result }
