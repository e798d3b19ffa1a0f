package server

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// openAPI answers with the document that the table of routes makes.
func (c *call) openAPI() error {
	data, err := c.srv.document()
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	_, _ = c.w.Write(data)
	return nil
}

// document is the OpenAPI document.
func document(version string, routes []route) ([]byte, error) {
	defs := &definitions{schemas: object{}, types: map[string]reflect.Type{}}
	defs.addEvents()
	paths := map[string]object{}
	for i := range routes {
		r := &routes[i]
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path][strings.ToLower(r.method)] = defs.operation(r)
	}
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info":    object{"title": "Awaken", "version": version, "description": "Runs AI agents. Streams can be taken up again after any event, with its id as ?cursor= or Last-Event-ID."},
		"paths":   paths,
		"components": object{"schemas": defs.schemas,
			"securitySchemes": object{"key": object{"type": "http", "scheme": "bearer"}}},
	}, "", "  ")
}

var pathParams = regexp.MustCompile(`\{(\w+)\}`)

func (d *definitions) operation(r *route) object {
	params := []object{}
	for _, m := range pathParams.FindAllStringSubmatch(r.path, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string", "minLength": 1, "maxLength": maxID}})
	}
	for _, p := range r.query {
		params = append(params, object{"name": p.name, "in": "query", "description": p.doc, "schema": p.schema()})
	}
	for _, p := range r.headers {
		params = append(params, object{"name": p.name, "in": "header", "description": p.doc, "schema": p.schema()})
	}
	op := object{"summary": r.summary, "operationId": operationID(r), "parameters": params}
	if r.body != nil {
		if !r.foreign && !isDocument(r.body) { // a protocol, and a namespace, says itself what it takes
			d.strict(reflect.TypeOf(r.body))
		}
		op["requestBody"] = object{"content": object{"application/json": object{"schema": d.of(reflect.TypeOf(r.body))}}}
	}
	op["security"] = []any{}
	if r.access != everyone {
		op["security"] = []any{object{"key": []string{}}}
		op["x-access"] = r.access.String()
		if r.global {
			op["x-scope"] = "server" // a key of a tenant is not enough
		}
	}
	responses := object{}
	for _, status := range failuresOf(r) {
		resp := object{"description": http.StatusText(status), "content": object{"application/json": object{"schema": d.of(reflect.TypeFor[errorBody]())}}}
		if status == 429 || status == 503 || status == 504 {
			resp["headers"] = object{"Retry-After": object{"description": "seconds to wait", "schema": object{"type": "integer", "minimum": 1}}}
		}
		responses[strconv.Itoa(status)] = resp
	}
	for status, v := range r.replies {
		resp := object{"description": http.StatusText(status)}
		if content := d.content(r, status, v); len(content) > 0 {
			resp["content"] = content
		}
		responses[strconv.Itoa(status)] = resp
	}
	op["responses"] = responses
	return op
}

// schema is the schema of a parameter.
func (p param) schema() object {
	switch p.kind {
	case "string", "integer", "boolean":
		return object{"type": p.kind}
	}
	return enum(strings.Split(p.kind, "|")...)
}

// failuresOf are the statuses of errors that a route can answer with.
func failuresOf(r *route) []int {
	out := append([]int{403}, r.failures...)
	if r.access != everyone {
		out = append(out, 401, 429, 500, 503)
	}
	if len(r.ids) > 0 {
		out = append(out, 404)
	}
	if r.body != nil {
		out = append(out, 400, 413, 415)
		if !isDocument(r.body) { // its mistakes are 400
			out = append(out, 422)
		}
	}
	return out
}

// isDocument reports whether a body is a config document.
func isDocument(body any) bool {
	_, ok := body.(rawDocument)
	return ok
}

// content is what an answer looks like, by its type. A stream's frames have JSON as
// their data: x-data is its schema.
func (d *definitions) content(r *route, status int, v any) object {
	content := object{}
	switch v.(type) {
	case nil:
	case text:
		content["text/plain"] = object{"schema": object{"type": "string"}}
	case object:
		content["application/json"] = object{"schema": object{"type": "object"}}
	default:
		content["application/json"] = object{"schema": d.of(reflect.TypeOf(v))}
	}
	if r.events != "" && status == http.StatusOK {
		content["text/event-stream"] = object{"schema": object{"type": "string", "description": "frames with an id, and an event as data"}, "x-data": r.data()}
	}
	return content
}

// data is the schema of what the frames of a stream have as data. Those of a protocol are
// described by the protocol.
func (r *route) data() object {
	if r.foreign {
		return object{"description": r.events}
	}
	return ref(r.events)
}

func operationID(r *route) string {
	return strings.ToLower(r.method) + strings.NewReplacer("/", "_", "{", "", "}", "", ".", "_", "-", "_").Replace(r.path)
}
