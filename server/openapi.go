package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/awaken-go/awaken/internal/schema"
)

// openAPI answers with the document that the table of routes makes.
func (c *call) openAPI() error {
	data, err := document(c.srv.cfg.Version)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	_, _ = c.w.Write(data)
	return nil
}

var documents sync.Map // version -> JSON

// document is the OpenAPI document.
func document(version string) ([]byte, error) {
	if data, ok := documents.Load(version); ok {
		return data.([]byte), nil
	}
	paths := map[string]map[string]any{}
	schemas := map[string]any{}
	errSchema, err := schemaOf(schemas, errorBody{})
	if err != nil {
		return nil, err
	}
	for i := range routes {
		r := &routes[i]
		op, err := operation(schemas, r, errSchema)
		if err != nil {
			return nil, err
		}
		if paths[r.path] == nil {
			paths[r.path] = map[string]any{}
		}
		paths[r.path][strings.ToLower(r.method)] = op
	}
	data, err := json.MarshalIndent(map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": "Awaken", "version": version, "description": "Runs AI agents. Streams can be taken up again after any event, with its id as ?cursor= or Last-Event-ID."},
		"paths":   paths,
		"components": map[string]any{"schemas": schemas,
			"securitySchemes": map[string]any{"key": map[string]any{"type": "http", "scheme": "bearer"}}},
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	documents.Store(version, data)
	return data, nil
}

var pathParams = regexp.MustCompile(`\{(\w+)\}`)

func operation(schemas map[string]any, r *route, errSchema any) (map[string]any, error) {
	var params []any
	for _, m := range pathParams.FindAllStringSubmatch(r.path, -1) {
		params = append(params, map[string]any{"name": m[1], "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
	}
	for _, p := range r.query {
		params = append(params, map[string]any{"name": p.name, "in": "query", "description": p.doc, "schema": map[string]any{"type": p.kind}})
	}
	op := map[string]any{"summary": r.summary, "operationId": operationID(r)}
	if params != nil {
		op["parameters"] = params
	}
	if r.body != nil {
		s, err := schemaOf(schemas, r.body)
		if err != nil {
			return nil, err
		}
		op["requestBody"] = map[string]any{"required": true, "content": map[string]any{"application/json": map[string]any{"schema": s}}}
	}
	if r.access != everyone {
		op["security"] = []any{map[string]any{"key": []any{}}}
		op["x-access"] = r.access.String()
	}
	responses := map[string]any{}
	for status, v := range r.replies {
		resp := map[string]any{"description": http.StatusText(status)}
		if content, err := contentOf(schemas, r, status, v); err != nil {
			return nil, err
		} else if content != nil {
			resp["content"] = content
		}
		responses[strconv.Itoa(status)] = resp
	}
	for _, status := range failuresOf(r) {
		key := strconv.Itoa(status)
		if responses[key] == nil {
			responses[key] = map[string]any{"description": http.StatusText(status), "content": map[string]any{"application/json": map[string]any{"schema": errSchema}}}
		}
	}
	op["responses"] = responses
	return op, nil
}

// failuresOf are the statuses of errors that a route can answer with.
func failuresOf(r *route) []int {
	out := append([]int{403, 500}, r.failures...)
	if r.access != everyone {
		out = append(out, 401, 429, 503)
	}
	if r.body != nil {
		out = append(out, 400, 413, 415, 422)
	}
	return out
}

func contentOf(schemas map[string]any, r *route, status int, v any) (map[string]any, error) {
	if v == nil {
		return nil, nil
	}
	if _, ok := v.(text); ok {
		return map[string]any{"text/plain": map[string]any{"schema": map[string]any{"type": "string"}}}, nil
	}
	s, err := schemaOf(schemas, v)
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	if r.events && status == 200 {
		content["text/event-stream"] = map[string]any{"schema": map[string]any{"type": "string", "description": "frames with an id and an event as data"}}
		if r.method == "GET" {
			return content, nil
		}
	}
	content["application/json"] = map[string]any{"schema": s}
	return content, nil
}

func operationID(r *route) string {
	return strings.ToLower(r.method) + strings.NewReplacer("/", "_", "{", "", "}", "", ".", "_", "-", "_").Replace(r.path)
}

// schemaOf returns a reference to the schema of v's type, which it adds to schemas.
func schemaOf(schemas map[string]any, v any) (any, error) {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Map {
		return map[string]any{"type": "object"}, nil
	}
	name := t.Name()
	if _, ok := schemas[name]; !ok {
		raw, err := schema.For(t)
		if err != nil {
			return nil, err
		}
		var s map[string]any
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
		if defs, ok := s["$defs"].(map[string]any); ok {
			maps.Copy(schemas, defs)
			delete(s, "$defs")
		}
		schemas[name] = s
	}
	return map[string]any{"$ref": "#/components/schemas/" + name}, nil
}
