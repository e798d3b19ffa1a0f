package a2a

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/protocol"
)

// rpcRequest is a JSON-RPC request.
type rpcRequest struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"` // a string or a number
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
	batch   bool
}

// UnmarshalJSON ignores unknown fields. A batch is not decoded.
func (r *rpcRequest) UnmarshalJSON(data []byte) error {
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '[' {
		r.batch = true
		return nil
	}
	type plain rpcRequest
	return strict.UnmarshalKnown(data, (*plain)(r))
}

// rpcResponse is the response to a JSON-RPC request.
type rpcResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int         `json:"code"`
	Message string      `json:"message"`
	Data    []errorInfo `json:"data,omitempty"`
}

// rpcFailure returns the response to a request that failed. The id is nil if it is not known.
func rpcFailure(id json.RawMessage, f *protocol.Failure) rpcResponse {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return rpcResponse{Version: "2.0", ID: id, Error: &rpcError{Code: kindOf(f).code, Message: f.Message, Data: detailsOf(f)}}
}

// failRPC shapes failures that come before the id of a request is known.
func failRPC(f *protocol.Failure) any { return rpcFailure(nil, f) }

// checkID returns the id of a request, if it can be one.
func (r *rpcRequest) checkID() (json.RawMessage, error) {
	id := bytes.TrimSpace(r.ID)
	if len(id) > 0 && len(id) <= protocol.MaxID && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9') {
		return id, nil
	}
	return nil, invalid("id is %.80q, want a string or a number", id)
}

func invalid(format string, args ...any) *protocol.Failure {
	return failure(http.StatusBadRequest, invalidRequest, format, args...)
}

// serveRPC answers a JSON-RPC request. Its errors have the HTTP status 200, except those of the server itself.
func (x *exchange) serveRPC() error {
	var req rpcRequest
	err := checkContent(x)
	if err == nil {
		err = x.Decode(&req)
	}
	var id json.RawMessage
	if err == nil {
		id, err = req.checkID()
	}
	switch {
	case err != nil && req.batch:
		err = invalid("the body is a batch, want one request")
	case err != nil:
	case req.Version != "2.0":
		err = invalid("jsonrpc is %.80q, want 2.0", req.Version)
	default:
		x.rpc = id
		if err = checkVersion(x); err == nil {
			err = x.call(&req)
		}
	}
	if err == nil {
		return nil
	}
	f := x.Failure(err)
	if f.Status >= 500 || f.Status == http.StatusTooManyRequests {
		return err
	}
	return x.Reply(http.StatusOK, rpcFailure(id, f))
}

// params decodes the parameters of a request.
func (r *rpcRequest) params(v json.Unmarshaler) error {
	if raw := bytes.TrimSpace(r.Params); len(raw) == 0 || raw[0] != '{' {
		return protocol.InvalidBody("params is %.80q, want an object", raw)
	}
	if err := v.UnmarshalJSON(r.Params); err != nil {
		return protocol.InvalidBody("params: %v", err)
	}
	return nil
}

// taskParams name a task.
type taskParams struct {
	Tenant        string `json:"tenant,omitempty"`
	ID            string `json:"id"`
	HistoryLength *int   `json:"historyLength,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (p *taskParams) UnmarshalJSON(data []byte) error {
	type plain taskParams
	return strict.UnmarshalKnown(data, (*plain)(p))
}

func (x *exchange) call(req *rpcRequest) error {
	switch req.Method {
	case "SendMessage", "SendStreamingMessage":
		var in sendRequest
		if err := req.params(&in); err != nil {
			return err
		}
		return x.send(&in, req.Method == "SendStreamingMessage")
	case "GetTask", "CancelTask", "SubscribeToTask":
		var in taskParams
		if err := req.params(&in); err != nil {
			return err
		}
		if err := x.address(in.Tenant); err != nil {
			return err
		}
		if in.ID == "" {
			return protocol.BadRequest("params.id is missing")
		}
		switch req.Method {
		case "CancelTask":
			return x.cancel(in.ID)
		case "SubscribeToTask":
			return x.subscribe(in.ID)
		}
		return x.get(in.ID, in.HistoryLength)
	case "ListTasks":
		var in listRequest
		if len(bytes.TrimSpace(req.Params)) > 0 {
			if err := req.params(&in); err != nil {
				return err
			}
		}
		return x.list(&in)
	case "GetExtendedAgentCard":
		return x.extendedCard()
	case "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig":
		return pushes{x}.call(req)
	}
	return failure(http.StatusNotFound, methodNotFound, "method is %.80q, want one of A2A %s", req.Method, version)
}
