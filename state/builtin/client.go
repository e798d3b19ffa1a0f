package builtin

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/awaken-go/awaken/state"
)

// State that a run shares with its client.
var (
	// ClientState is the state of the client's page, as any JSON value. The client sends it
	// with its requests and receives every change. An update is a JSON Merge Patch (RFC
	// 7396): it sets fields, and null removes one. Updates of different fields do not
	// conflict.
	//
	//	builtin.ClientState.Update(call, json.RawMessage(`{"progress": 0.5}`))
	ClientState = state.NewKey("client.state", mergePatch, state.Options{Scope: state.Thread, Merge: state.Commutative})
	// ClientProps holds the properties that the client sent with its request, as any JSON
	// value. Tools and hooks read it.
	ClientProps = state.NewValue[json.RawMessage]("client.props", state.Options{})
)

// mergePatch applies a JSON Merge Patch. A patch that is not JSON changes nothing.
func mergePatch(doc, patch json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(patch, &fields) != nil || fields == nil { // not an object: it replaces the document
		if !json.Valid(patch) {
			return doc
		}
		return bytes.TrimSpace(patch)
	}
	var was map[string]json.RawMessage
	_ = json.Unmarshal(doc, &was) // if doc is not an object, it has no fields
	out := make(map[string]json.RawMessage, len(was)+len(fields))
	maps.Copy(out, was)
	for name, v := range fields {
		if string(v) == "null" {
			delete(out, name)
		} else {
			out[name] = mergePatch(was[name], v)
		}
	}
	data, err := json.Marshal(out)
	if err != nil {
		return doc // cannot happen: the parts were valid JSON
	}
	return data
}
