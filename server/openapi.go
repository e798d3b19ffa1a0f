package server

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// describe returns the route of the OpenAPI document.
func describe(document func() ([]byte, error)) protocol.Route {
	return protocol.Route{Method: "GET", Path: "/openapi.json", Needs: permit.Public, Summary: "Get this OpenAPI document", Replies: map[int]any{200: object{}}, Handle: Handle(func(req *Request) error {
		data, err := document()
		if err != nil {
			return err
		}
		req.w.Header().Set("Content-Type", "application/json")
		_, _ = req.w.Write(data)
		return nil
	})}
}

// document returns the OpenAPI document of routes. Parts are as in [Composed].
func document(version string, routes []protocol.Route, parts []any) ([]byte, error) {
	defs := &definitions{schemas: object{}, types: map[string]reflect.Type{}}
	defs.addEvents()
	for _, v := range parts {
		defs.part(v)
	}
	paths := map[string]object{}
	for i := range routes {
		r := &routes[i]
		path := strings.ReplaceAll(r.Path, "...}", "}")
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(r.Method)] = defs.operation(r)
	}
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info":    object{"title": "Awaken", "version": version, "description": "Runs AI agents. A stream can be resumed after any event, with the event's id as ?cursor= or Last-Event-ID."},
		"paths":   paths,
		"components": object{"schemas": defs.schemas,
			"securitySchemes": object{"key": object{"type": "http", "scheme": "bearer"}}},
	}, "", "  ")
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (d *definitions) operation(r *protocol.Route) object {
	params := []object{}
	for _, id := range r.IDs() {
		params = append(params, object{"name": id, "in": "path", "required": true, "schema": object{"type": "string", "minLength": 1, "maxLength": protocol.MaxID}})
	}
	if strings.HasSuffix(r.Path, "{path...}") {
		params = append(params, object{"name": "path", "in": "path", "required": true, "description": "the rest of the path, with slashes", "schema": object{"type": "string"}})
	}
	for _, p := range r.Query {
		params = append(params, object{"name": p.Name, "in": "query", "description": p.Doc, "schema": schemaOf(p)})
	}
	for _, p := range r.Headers {
		params = append(params, object{"name": p.Name, "in": "header", "description": p.Doc, "schema": schemaOf(p)})
	}
	op := object{"summary": r.Summary, "operationId": operationID(r), "parameters": params}
	if r.Body != nil {
		if t := reflect.TypeOf(r.Body); !reflect.PointerTo(t).Implements(unmarshaler) { // a type that decodes itself defines its own fields
			d.strict(t)
		}
		op["requestBody"] = object{"content": object{"application/json": object{"schema": d.of(reflect.TypeOf(r.Body))}}}
	}
	if r.Raw {
		op["requestBody"] = object{"required": true, "content": object{"*/*": object{"schema": object{"type": "string", "format": "binary"}}}}
	}
	op["security"] = []any{}
	if r.Needs != permit.Public {
		op["security"] = []any{object{"key": []string{}}}
		op["x-access"] = kindWith(r.Needs)
		if permit.Server.Has(r.Needs) {
			op["x-scope"] = "server" // a tenant's key is not enough
		}
	}
	responses, failure := object{}, reflect.TypeFor[ErrorBody]()
	if r.Errors != nil {
		failure = reflect.TypeOf(r.Errors(&protocol.Failure{}))
	}
	for _, status := range failuresOf(r) {
		resp := object{"description": http.StatusText(status), "content": object{"application/json": object{"schema": d.of(failure)}}}
		if status == 429 || status == 503 || status == 504 {
			resp["headers"] = object{"Retry-After": object{"description": "seconds to wait before a retry", "schema": object{"type": "integer", "minimum": 1}}}
		}
		responses[strconv.Itoa(status)] = resp
	}
	for status, v := range r.Replies {
		resp := object{"description": http.StatusText(status)}
		if content := d.content(r, status, v); len(content) > 0 {
			resp["content"] = content
		}
		responses[strconv.Itoa(status)] = resp
	}
	op["responses"] = responses
	return op
}

// schemaOf returns the schema of a parameter.
func schemaOf(p protocol.Param) object {
	switch p.Kind {
	case "string", "integer", "number", "boolean":
		return object{"type": p.Kind}
	}
	return enum(p.Values()...)
}

// failuresOf returns the statuses of the errors that a route can answer with.
func failuresOf(r *protocol.Route) []int {
	out := append([]int{403}, r.Failures...)
	if r.Needs != permit.Public {
		out = append(out, 401, 429, 500, 503)
	}
	if len(r.IDs()) > 0 {
		out = append(out, 404)
	}
	if len(r.Query) > 0 {
		out = append(out, 400)
	}
	if r.Body != nil {
		out = append(out, 400, 408, 413, 415)
		switch r.Body.(type) {
		case RawDocument, PatchDocument: // mistakes in documents are 400
		default:
			misfit := &protocol.Failure{Status: http.StatusUnprocessableEntity}
			if r.Errors != nil {
				r.Errors(misfit)
			}
			out = append(out, misfit.Status)
		}
	}
	return out
}

// content returns the media types of a response. The frames of a stream have JSON as their data:
// x-data is its schema.
func (d *definitions) content(r *protocol.Route, status int, v any) object {
	content := object{}
	switch v.(type) {
	case nil:
	case RawFile:
		content["*/*"] = object{"schema": object{"type": "string", "format": "binary"}}
	case NDJSON:
		content["application/x-ndjson"] = object{"schema": object{"type": "string"}}
	case Text:
		content["text/plain"] = object{"schema": object{"type": "string"}}
	case HTML:
		content["text/html"] = object{"schema": object{"type": "string"}}
		if status >= 400 {
			content["application/json"] = object{"schema": d.of(reflect.TypeFor[ErrorBody]())}
		}
	case object:
		content["application/json"] = object{"schema": object{"type": "object"}}
	default:
		content["application/json"] = object{"schema": d.of(reflect.TypeOf(v))}
	}
	if r.Events != "" && status == http.StatusOK {
		content["text/event-stream"] = object{"schema": object{"type": "string", "description": "frames with an id and an event as data"}, "x-data": frameData(r)}
	}
	return content
}

// frameData returns the schema of the data in a stream's frames. A protocol describes its own in
// words.
func frameData(r *protocol.Route) object {
	schema, ok := strings.CutPrefix(r.Events, "#")
	if !ok {
		return object{"description": r.Events}
	}
	return ref(schema)
}

func operationID(r *protocol.Route) string {
	return strings.ToLower(r.Method) + strings.NewReplacer("/", "_", "{", "", "...}", "", "}", "", ".", "_", "-", "_").Replace(r.Path)
}
