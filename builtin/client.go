package builtin

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/awaken-go/awaken/state"
)

// What a run shares with the client that shows it. Every agent has these keys.
var (
	// ClientState is the state of the client's page: any JSON. The client sends it with
	// its requests and is told of every change. An update is a JSON Merge Patch (RFC
	// 7396): fields are set, and removed by null, so writers of different fields do not
	// disturb each other.
	//
	//	builtin.ClientState.Update(call, json.RawMessage(`{"progress": 0.5}`))
	ClientState = state.NewKey("client.state", mergePatch, state.Options{Scope: state.Thread, Merge: state.Commutative})
	// ClientProps is what the client sent along with its request: any JSON, for tools and
	// hooks to read.
	ClientProps = state.NewValue[json.RawMessage]("client.props", state.Options{})
)

// mergePatch applies a JSON Merge Patch. A patch that is not JSON changes nothing.
func mergePatch(doc, patch json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(patch, &fields) != nil || fields == nil { // not an object: it replaces all
		if !json.Valid(patch) {
			return doc
		}
		return bytes.TrimSpace(patch)
	}
	var was map[string]json.RawMessage
	_ = json.Unmarshal(doc, &was) // what is not an object has no fields
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
		return doc // it was JSON a moment ago
	}
	return data
}
