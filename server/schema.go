package server

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/state"
)

// object is a JSON object of the OpenAPI document.
type object = map[string]any

// documentNames are the names of the schemas of config documents.
var documentNames = map[config.Namespace]string{config.Agents: "AgentDocument", config.Models: "ModelDocument", config.Pools: "ModelPoolDocument", config.Providers: "ProviderDocument",
	config.MCPServers: "McpServerDocument", config.A2AServers: "A2aServerDocument", config.Skills: "SkillDocument", config.Tools: "ToolDocument"}

// anyDocument returns the schema of a document whose namespace is in the path.
func anyDocument() object {
	var all []any
	for _, ns := range config.Namespaces {
		all = append(all, ref(documentNames[ns]))
	}
	return object{"anyOf": all, "description": "a config document of the namespace"}
}

// addDocuments defines the documents of all namespaces, by the schemas that $schema serves.
func (d *definitions) addDocuments() {
	for ns, name := range documentNames {
		var s object
		if err := json.Unmarshal(config.Schema(ns), &s); err != nil {
			panic(fmt.Sprintf("schema of %s: %v", ns, err))
		}
		delete(s, "$schema")
		d.schemas[name] = s
	}
}

// isDocument reports whether the schema of a type refers to those of documents.
func isDocument(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[RawDocument](), reflect.TypeFor[AgentDocument](), reflect.TypeFor[SkillDocument](), reflect.TypeFor[ToolDocument]():
		return true
	}
	return false
}

// definitions collects the schemas of the document, one for each named type on the wire.
type definitions struct {
	schemas object
	types   map[string]reflect.Type
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func enum[T ~string](values ...T) object { return object{"type": "string", "enum": values} }

// wire has the schemas of types whose JSON does not follow from their fields.
var wire = map[reflect.Type]object{
	reflect.TypeFor[json.RawMessage](): {"description": "any JSON"},
	reflect.TypeFor[time.Time]():       {"type": "string", "format": "date-time"},
	reflect.TypeFor[RawDocument]():     anyDocument(),
	reflect.TypeFor[AgentDocument]():   ref(documentNames[config.Agents]),
	reflect.TypeFor[SkillDocument]():   ref(documentNames[config.Skills]),
	reflect.TypeFor[ToolDocument]():    ref(documentNames[config.Tools]),
	reflect.TypeFor[PatchDocument]():   {"type": "object", "description": "fields of a document; null clears a field, and _clear lists overrides to remove"},
	reflect.TypeFor[NullableText]():    {"type": []string{"string", "null"}, "description": "null clears the field"},
	reflect.TypeFor[awaken.RunStatus](): enum(awaken.RunCreated, awaken.RunRunning, awaken.RunWaiting,
		awaken.RunDone),
	reflect.TypeFor[awaken.CallStatus](): enum(awaken.CallNew, awaken.CallRunning, awaken.CallSuspended, awaken.CallResuming,
		awaken.CallSucceeded, awaken.CallFailed, awaken.CallCancelled),
	reflect.TypeFor[awaken.ToolStatus]():     enum(awaken.ToolSuccess, awaken.ToolPending, awaken.ToolError),
	reflect.TypeFor[awaken.ResumeMode]():     enum(awaken.ReplayToolCall, awaken.UseDecisionAsToolResult, awaken.PassDecisionToTool),
	reflect.TypeFor[awaken.ExpiryPolicy]():   enum(awaken.ExpireApprove, awaken.ExpireEscalate),
	reflect.TypeFor[awaken.DecisionAction](): enum(awaken.ActionResume, awaken.ActionCancel),
	reflect.TypeFor[awaken.EffectClass]():    enum(awaken.Effectful, awaken.Idempotent, awaken.ReadOnly),
	reflect.TypeFor[awaken.Outcome]():        enum(awaken.OutcomeMade, awaken.OutcomeNotMade, awaken.OutcomeInDoubt),
	reflect.TypeFor[awaken.DoubtOrigin]():    enum(awaken.DoubtIntent, awaken.DoubtTool, awaken.DoubtChild, awaken.DoubtRestored),
	reflect.TypeFor[awaken.DoubtPolicy]():    enum(awaken.DoubtTell, awaken.DoubtSuspend),
	reflect.TypeFor[awaken.WaitingReason](): enum(awaken.WaitToolPermission, awaken.WaitUserInput, awaken.WaitBackgroundTasks,
		"external_event", "rate_limit", "manual_pause", awaken.WaitBudget, awaken.WaitPin, awaken.WaitRestored),
	reflect.TypeFor[awaken.Phase]():     {"type": "string", "description": "a phase of a run, such as before_inference"},
	reflect.TypeFor[mailbox.Status]():   enum(mailbox.Statuses...),
	reflect.TypeFor[webhook.Event]():    enum(webhook.Events...),
	reflect.TypeFor[schedule.Overlap](): enum(schedule.SkipOverlap, schedule.WaitOverlap, schedule.AllowOverlap, schedule.EndOverlap),
	reflect.TypeFor[schedule.Missed]():  enum(schedule.CatchLatest, schedule.CatchNone, schedule.CatchAll),
	reflect.TypeFor[schedule.Outcome](): enum(schedule.Started, schedule.Skipped, schedule.Lapsed, schedule.Refused),
	reflect.TypeFor[llm.ArrivalPoint](): enum(llm.DuringCalls, llm.BehindStep, llm.AtEnd, llm.AtOpening),
	reflect.TypeFor[llm.Role]():         enum(llm.System, llm.User, llm.Assistant, llm.ToolRole),
	reflect.TypeFor[llm.Visibility]():   enum(llm.VisibleAll, llm.Internal),
	reflect.TypeFor[Kind]():             enum(ReadKey, RunKey, AdminKey),
	reflect.TypeFor[llm.Effort](): {"anyOf": []any{enum("none", "low", "medium", "high", "max"),
		object{"type": "object", "properties": object{"budget": object{"type": "integer", "minimum": 1}}, "required": []string{"budget"}, "additionalProperties": false}}},
	reflect.TypeFor[state.Snapshot](): {"type": "object", "required": []string{"revision", "extensions"}, "properties": object{
		"revision": object{"type": "integer"}, "extensions": object{"type": "object", "description": "the values of keys, by name"}}},
	reflect.TypeFor[awaken.Termination](): {"type": "object", "required": []string{"type"}, "oneOf": []any{
		object{"properties": object{"type": enum(awaken.NaturalEnd, awaken.BehaviorRequested, awaken.Cancelled, awaken.Suspended)},
			"additionalProperties": false},
		ended(object{"value": object{"type": "object", "required": []string{"code"}, "properties": object{"code": text, "detail": text}},
			"kind": text, "cause_at": object{"type": "integer"}}, awaken.Stopped),
		ended(object{"value": text, "point": enum(awaken.InputPoint, awaken.OutputPoint, awaken.ResultPoint), "call_id": text}, awaken.Blocked),
		ended(object{"value": text, "kind": text, "cause_at": object{"type": "integer"}}, awaken.Failed),
	}},
	reflect.TypeFor[llm.Block](): {"type": "object", "required": []string{"type"}, "oneOf": []any{
		block(object{"text": object{"type": "string"}}, "text", llm.TextBlock),
		block(object{"thinking": object{"type": "string"}}, "thinking", llm.ThinkingBlock),
		block(object{"source": ref("Source")}, "source", llm.ImageBlock, llm.AudioBlock, llm.VideoBlock),
		block(object{"source": ref("Source"), "title": object{"type": "string"}}, "source", llm.DocumentBlock),
		block(object{"id": object{"type": "string"}, "name": object{"type": "string"}, "input": object{"description": "any JSON"}}, "id name input", llm.ToolUseBlock),
		block(object{"tool_use_id": object{"type": "string"}, "content": object{"type": "array", "items": ref("Block")}}, "tool_use_id content", llm.ToolResultBlock),
	}},
	reflect.TypeFor[llm.Source](): {"type": "object", "required": []string{"type"}, "oneOf": []any{
		object{"properties": object{"type": enum("base64"), "media_type": object{"type": "string"}, "data": object{"type": "string", "contentEncoding": "base64"}},
			"required": []string{"data"}, "additionalProperties": false},
		object{"properties": object{"type": enum("url"), "media_type": object{"type": "string"}, "url": object{"type": "string"}}, "required": []string{"url"}, "additionalProperties": false},
		object{"properties": object{"type": enum("blob"), "media_type": object{"type": "string"}, "id": object{"type": "string"}, "size": object{"type": "integer"}},
			"required": []string{"id", "media_type"}, "additionalProperties": false},
	}},
}

var text = object{"type": "string"}

// ended is the schema of a termination that has a value.
func ended(properties object, is awaken.TerminationType) object {
	properties["type"] = enum(is)
	return object{"properties": properties, "required": []string{"value"}, "additionalProperties": false}
}

func block(properties object, required string, types ...llm.BlockType) object {
	properties["type"], properties["opaque"] = enum(types...), ref("Opaque")
	return object{"properties": properties, "required": strings.Fields(required), "additionalProperties": false}
}

// fields has the schemas of fields whose type says too little.
var fields = map[string]object{
	"Run.origin":              enum("user", "mcp", "subagent", "internal"),
	"Run.run_mode":            enum("scheduled", "resume", "internal_wake"),
	"RunInfo.origin":          enum("user", "mcp", "subagent", "internal"),
	"RunInfo.run_mode":        enum("foreground", "scheduled", "resume", "internal_wake"),
	"RunRequest.origin":       enum("user", "mcp", "subagent", "internal"),
	"RunRequest.run_mode":     enum("foreground", "scheduled", "resume", "internal_wake"),
	"ToolChoice.mode":         enum("auto", "none", "required", "tool"),
	"PatchOp.op":              enum("add", "remove", "replace", "move", "copy", "test"),
	"Pending.boundary":        enum("new_run", "next_step", "on_natural_end"),
	"Dispatch.priority":       {"type": "integer", "minimum": 0, "maximum": 255},
	"InputMessage.role":       enum(llm.User, llm.Assistant, llm.System),
	"InputMessage.content":    {"anyOf": []any{object{"type": "string"}, object{"type": "array", "items": ref("Block"), "minItems": 1}}},
	"NewRun.mode":             modes,
	"NewRun.priority":         priorities,
	"PostMessages.priority":   priorities,
	"RunTemplate.priority":    priorities,
	"RunTemplate.messages":    someMessages,
	"ScheduleSpec.run":        ref("RunTemplate"),
	"ScheduleView.status":     enum("active", "paused", "ended"),
	"MailboxItem.priority":    priorities,
	"RateUsage.source":        enum(limit.Configured, limit.Learned, limit.Refused),
	"PostMessages.mode":       modes,
	"RunInputs.mode":          modes,
	"NewRun.messages":         someMessages,
	"PostMessages.messages":   someMessages,
	"RunInputs.messages":      someMessages,
	"PendingEdit.messages":    someMessages,
	"PostMessages.boundary":   enum("next_step", "on_natural_end"),
	"RunInputs.boundary":      enum("next_step", "on_natural_end"),
	"DecisionBody.action":     enum(awaken.ActionResume, awaken.ActionCancel),
	"HealthBody.status":       enum("healthy", "unhealthy"),
	"HealthBody.components":   {"type": "object", "additionalProperties": enum("ok", "error", "timeout", "stopping")},
	"MessagesAccepted.status": enum("running", "queued"),
	"ThreadAccepted.status":   enum("cancel_requested", "interrupt_requested", "decision_submitted"),
	"RunAccepted.status":      enum("inputs_accepted", "cancel_requested", "continue_requested", "decision_submitted"),
	"Balance.scope":           scopes,
	"Exhausted.scope":         scopes,
	"Account.scope":           scopes,
	"BudgetBody.limit_usd":    {"type": []string{"number", "null"}, "minimum": 0, "description": "null removes the limit"},
	"CanonicalEvent.payload":  ref("Event"),
	"CanonicalEvent.origin":   enum("runtime"),
	"CanonicalEvent.event_kind": enum("RunStarted", "RunResumed", "RunFinished", "RunSuspended", "RunCancelled", "RunErrored", "RunTerminated",
		"TextDeltaObserved", "ReasoningDeltaObserved", "ReasoningEncryptedValueObserved", "ToolCallStarted", "ToolCallDeltaObserved", "ToolCallReady",
		"ToolCallDone", "ToolCallSuspended", "ToolCallStreamDeltaObserved", "ToolCallResumed", "ToolCallCancelled", "StreamReset", "StepStarted", "StepEnded",
		"InferenceComplete", "MessagesSnapshotObserved", "ActivitySnapshotObserved", "ActivityDeltaObserved", "StateSnapshotObserved", "StateDeltaObserved", "ErrorRecorded"),
	"CanonicalEvent.visibility": enum("public"),
	"EventScope.scope_type":     enum("thread", "run"),
}

var (
	scopes       = enum(money.TenantScope, money.AgentScope, money.ThreadScope, money.RunScope)
	priorities   = enum("interactive", "background")
	modes        = enum("queue", "live_then_queue", "steer", "interrupt_then_queue", "resume_open_run")
	someMessages = object{"type": "array", "items": ref("InputMessage"), "minItems": 1}
)

// eventTypes lists all events, for the schema of what a stream sends.
var eventTypes = []awaken.Event{&awaken.RunStart{}, &awaken.RunFinish{}, &awaken.TextDelta{}, &awaken.ReasoningDelta{}, &awaken.ReasoningEncryptedValue{},
	&awaken.ToolCallStart{}, &awaken.ToolCallDelta{}, &awaken.ToolCallReady{}, &awaken.ToolCallDone{}, &awaken.ToolCallStreamDelta{}, &awaken.ToolCallResumed{},
	&awaken.ToolCallCancel{}, &awaken.StreamReset{}, &awaken.ActivitySnapshot{}, &awaken.ActivityDelta{}, &awaken.StepStart{}, &awaken.StepEnd{},
	&awaken.InferenceComplete{}, &awaken.StateSnapshot{}, &awaken.StateDelta{}, &awaken.MessagesSnapshot{}, &awaken.Error{}}

// addEvents defines Event as one of all events, distinguished by event_type.
func (d *definitions) addEvents() {
	var all []any
	for _, ev := range eventTypes {
		t := reflect.TypeOf(ev).Elem()
		s := d.structure(t)
		s["properties"].(object)["event_type"] = object{"const": ev.Type()}
		s["required"] = append([]string{"event_type"}, s["required"].([]string)...)
		name := t.Name() + "Event"
		d.schemas[name] = s
		all = append(all, ref(name))
	}
	d.schemas["Event"] = object{"oneOf": all}
	for _, t := range []reflect.Type{reflect.TypeFor[llm.Source](), reflect.TypeFor[llm.Opaque](), reflect.TypeFor[llm.Block]()} {
		d.of(t) // schemas above refer to them by name
	}
	d.strict(reflect.TypeFor[InputMessage]())
}

// part defines a type that bodies of a wing have as a part.
func (d *definitions) part(v any) {
	u, ok := v.(OneOf)
	if !ok {
		d.strict(reflect.TypeOf(v))
		return
	}
	var all []any
	for _, t := range u.Types {
		all = append(all, d.of(reflect.TypeOf(t)))
	}
	d.schemas[u.Name] = object{"anyOf": all}
}

// strict defines a type that clients send, which refuses unknown fields.
func (d *definitions) strict(t reflect.Type) {
	d.of(t)
	if s, ok := d.schemas[nameOf(t)].(object); ok {
		s["additionalProperties"] = false
	}
}

// of returns the schema of a type. A struct with a name is defined once and referred to.
func (d *definitions) of(t reflect.Type) object {
	if t.Kind() == reflect.Pointer {
		return d.of(t.Elem())
	}
	if t.Kind() == reflect.Struct && t.Name() == "" {
		return d.structure(t)
	}
	known := wire[t]
	if isDocument(t) && d.schemas[documentNames[config.Agents]] == nil {
		d.addDocuments()
	}
	if t.Kind() == reflect.Struct && t != reflect.TypeFor[NullableText]() && t != reflect.TypeFor[time.Time]() {
		name := nameOf(t)
		if old, ok := d.types[name]; ok {
			if old != t {
				panic(fmt.Sprintf("two types have the name %s: %s and %s", name, old, t))
			}
			return ref(name)
		}
		d.types[name] = t
		if known == nil {
			known = d.structure(t)
		}
		d.schemas[name] = known
		return ref(name)
	}
	if known != nil {
		return known
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Slice:
		return object{"type": "array", "items": d.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.of(t.Elem())}
	case reflect.Interface:
		return object{"description": "any JSON"}
	}
	panic(fmt.Sprintf("there is no schema for %s", t))
}

// structure returns the schema of a struct. Fields that are never omitted are required.
func (d *definitions) structure(t reflect.Type) object {
	props, required := object{}, []string{}
	var add func(t reflect.Type, owner string)
	add = func(t reflect.Type, owner string) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-":
				continue
			case f.Anonymous && name == "":
				add(f.Type, nameOf(f.Type))
				continue
			case !f.IsExported():
				continue
			}
			optional := strings.Contains(opts, "omitempty") || strings.Contains(opts, "omitzero")
			s := fields[owner+"."+name]
			if s == nil {
				s = d.of(f.Type)
			}
			if f.Type.Kind() == reflect.Pointer && !optional {
				s = object{"anyOf": []any{s, object{"type": "null"}}}
			}
			props[name] = s
			if !optional {
				required = append(required, name)
			}
		}
	}
	add(t, nameOf(t))
	if t == reflect.TypeFor[awaken.Run]() { // its encoding adds them
		for _, name := range []string{"created_at_ms", "started_at_ms", "finished_at_ms", "updated_at_ms"} {
			props[name] = object{"type": "integer", "description": "Unix milliseconds"}
		}
	}
	return object{"type": "object", "properties": props, "required": required}
}

// nameOf returns the name of a type in the document, or "" if it has none. Types of protocols and of
// the control plane, of evaluations and of schedules have their package as a prefix.
func nameOf(t reflect.Type) string {
	if t.Name() == "" {
		return ""
	}
	switch pkg := path.Base(t.PkgPath()); pkg {
	case "config", "assistant", "eval", "archive", "stat", "schedule":
		return title(pkg) + title(t.Name())
	}
	if _, name, ok := strings.Cut(t.PkgPath(), "/protocol/"); ok {
		return title(name) + title(t.Name())
	}
	return title(t.Name())
}

// title returns a name with a capital first letter.
func title(name string) string {
	return strings.ToUpper(name[:1]) + name[1:]
}
