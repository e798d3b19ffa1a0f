package genui

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/state/builtin"
)

// The catalogues of the A2UI project. A surface of another catalogue may have components of any type.
const (
	StandardCatalog = "https://a2ui.org/specification/v0_8/standard_catalog_definition.json" // of v0.8
	BasicCatalog    = "https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json"      // of v0.9
)

// The keys of messages: those of v0.8, and those of the createSurface family, v0.9.
const (
	surfaceUpdate    = "surfaceUpdate"
	dataModelUpdate  = "dataModelUpdate"
	beginRendering   = "beginRendering"
	deleteSurface    = "deleteSurface" // of both
	createSurface    = "createSurface"
	updateComponents = "updateComponents"
	updateDataModel  = "updateDataModel"
)

var (
	messageKeys = []string{surfaceUpdate, dataModelUpdate, beginRendering, createSurface, updateComponents, updateDataModel, deleteSurface}
	// versions are those that a message of the createSurface family may name. The manual of the original
	// calls that family v0.8, the project v0.9; its renderers accept v0.9 and v0.9.1.
	versions = []string{"v0.8", "v0.9", "v0.9.1"}
)

// Limits bounds what a model may draw with one call.
type Limits struct {
	Components int // per call
	Depth      int // of the tree of components
	Bytes      int // of the arguments
}

// jsonDepth is how deep the JSON of a call may be nested. Trees of components are flat lists.
const jsonDepth = 64

// A2UI is the decoded form of the arguments of render_a2ui.
type A2UI struct {
	// Messages are the messages, each with one key, and a version if it belongs to the createSurface
	// family. Renderers of the project take them as they are.
	Messages []json.RawMessage
	// Missing are components that a new surface refers to and does not have.
	Missing []string
	changes []builtin.SurfaceChange
}

// ParseA2UI decodes and validates the arguments of render_a2ui. Known has the surfaces of the thread;
// nil means that they are unknown, and what depends on them is not checked. Catalog is the catalogue of
// surfaces that name none. An error joins a *[Problem] for each mistake.
func ParseA2UI(args []byte, known map[string]builtin.Surface, catalog string, limits Limits) (*A2UI, error) {
	if len(args) > limits.Bytes {
		return nil, &Problem{"/", fmt.Sprintf("has %d bytes", len(args)), fmt.Sprintf("at most %d", limits.Bytes)}
	}
	var doc any
	if err := json.Unmarshal(args, &doc); err != nil {
		return nil, &Problem{"/", "is no JSON: " + err.Error(), "an object"}
	}
	root, ok := doc.(map[string]any)
	if !ok {
		return nil, &Problem{"/", show(doc), "an object with messages, or one message"}
	}
	d := &a2uiDecoder{catalog: catalog, limits: limits, known: known, surfaces: map[string]*drawing{}}
	if deeper(doc, jsonDepth) {
		return nil, &Problem{"/", fmt.Sprintf("is nested more than %d levels deep", jsonDepth), "less"}
	}
	d.arguments(root)
	d.finish()
	if err := d.err(); err != nil {
		return nil, err
	}
	return &d.out, nil
}

// deeper reports whether a value is nested more than depth levels deep.
func deeper(v any, depth int) bool {
	if depth < 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if deeper(e, depth-1) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if deeper(e, depth-1) {
				return true
			}
		}
	}
	return false
}

// a2uiDecoder decodes the messages of one call.
type a2uiDecoder struct {
	problems
	catalog    string
	limits     Limits
	known      map[string]builtin.Surface
	surfaces   map[string]*drawing // that this call changes
	components int
	out        A2UI
}

// drawing is what one call says about a surface.
type drawing struct {
	exists   bool // before the call, or since a message of it
	isNew    bool // the call creates it
	catalog  string
	root     string
	rootAt   string
	at       map[string]string   // of each component, where it is
	children map[string][]string // of each component
}

// arguments decodes the object that a model passes: messages, one message, a message without its key, or
// the parameters of the tool that AG-UI's middleware defines.
func (d *a2uiDecoder) arguments(root map[string]any) {
	if v, ok := root["messages"]; ok {
		d.only("", root, "messages")
		messages, ok := v.([]any)
		switch {
		case !ok:
			d.add("/messages", "an array of messages", "%s", show(v))
		case len(messages) == 0:
			d.add("/messages", "at least one message", "is empty")
		}
		for i, m := range messages {
			d.message(below("/messages", i), m)
		}
		return
	}
	if data, ok := root["data"]; ok && root["surfaceId"] != nil && root["components"] != nil {
		d.only("", root, "surfaceId", "components", "data")
		id := root["surfaceId"]
		if s, ok := id.(string); !ok || !d.surface(s).exists {
			d.message("", map[string]any{"version": "v0.9", createSurface: map[string]any{"surfaceId": id, "catalogId": d.basic()}})
		}
		d.message("", map[string]any{"version": "v0.9", updateComponents: map[string]any{"surfaceId": id, "components": root["components"]}})
		d.message("", map[string]any{"version": "v0.9", updateDataModel: map[string]any{"surfaceId": id, "value": data}})
		return
	}
	d.message("", root)
}

// basic returns the catalogue of a surface of v0.9 that names none.
func (d *a2uiDecoder) basic() string {
	if d.catalog == StandardCatalog {
		return BasicCatalog
	}
	return d.catalog
}

// standard is basic for v0.8.
func (d *a2uiDecoder) standard() string {
	if d.catalog == BasicCatalog {
		return StandardCatalog
	}
	return d.catalog
}

// wrapped returns a message with its key, which models sometimes leave out. It returns m itself if it has
// one, or is no such message.
func wrapped(m map[string]any) map[string]any {
	if _, ok := m["surfaceId"]; !ok {
		return m
	}
	key := ""
	switch components, _ := m["components"].([]any); {
	case len(components) > 0:
		key = surfaceUpdate
		if first, _ := components[0].(map[string]any); first != nil {
			if _, named := first["component"].(string); named {
				key = updateComponents
			}
		}
	case m["contents"] != nil:
		key = dataModelUpdate
	case m["root"] != nil:
		key = beginRendering
	case m["catalogId"] != nil:
		key = createSurface
	case m["value"] != nil:
		key = updateDataModel
	default:
		return m
	}
	inner := maps.Clone(m)
	out := map[string]any{key: inner}
	if v, ok := inner["version"]; ok {
		delete(inner, "version")
		out["version"] = v
	}
	return out
}

// message decodes one message.
func (d *a2uiDecoder) message(at string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		d.add(at, "an object with one of "+strings.Join(messageKeys, ", "), "%s", show(v))
		return
	}
	m = wrapped(m)
	var keys []string
	for _, key := range messageKeys {
		if _, ok := m[key]; ok {
			keys = append(keys, key)
		}
	}
	if len(keys) != 1 {
		found := "has " + keysOf(m)
		if len(keys) > 1 {
			found = "has several messages: " + strings.Join(keys, ", ")
		}
		d.add(at, "exactly one of "+strings.Join(messageKeys, ", "), "%s", found)
		return
	}
	key := keys[0]
	d.only(at, m, key, "version")
	body := d.object(at, m, key, true)
	if body == nil {
		return
	}
	version := d.version(at, m, key)
	id := d.text(below(at, key), body, "surfaceId", true)
	if id == "" {
		return
	}
	d.body(below(at, key), key, version, id, body)
	out := map[string]any{key: body}
	if version != "" {
		out["version"] = version
	}
	data, err := json.Marshal(out)
	if err != nil {
		d.add(at, "JSON", "%v", err)
	}
	d.out.Messages = append(d.out.Messages, data)
}

// version returns the version that a renderer wants to see in a message: "" for the messages of v0.8.
func (d *a2uiDecoder) version(at string, m map[string]any, key string) string {
	v, given := m["version"]
	s, _ := v.(string)
	if given && !slices.Contains(versions, s) {
		d.add(below(at, "version"), "one of "+strings.Join(versions, ", "), "%s", show(v))
	}
	switch key {
	case surfaceUpdate, dataModelUpdate, beginRendering:
		if given && s != "v0.8" {
			d.add(below(at, "version"), "v0.8, or none: "+key+" is a message of v0.8", "%s", show(v))
		}
		return ""
	case deleteSurface:
		if !given {
			return ""
		}
	}
	if s == "v0.9.1" {
		return s
	}
	return "v0.9"
}

// surface returns what the call says about a surface.
func (d *a2uiDecoder) surface(id string) *drawing {
	s := d.surfaces[id]
	if s == nil {
		was, exists := d.known[id]
		s = &drawing{exists: exists, catalog: was.CatalogID, at: map[string]string{}, children: map[string][]string{}}
		d.surfaces[id] = s
	}
	return s
}

// change notes a change of a surface.
func (d *a2uiDecoder) change(c builtin.SurfaceChange) {
	if !c.Delete {
		c.Format = FormatA2UI
	}
	d.out.changes = append(d.out.changes, c)
}

// body decodes the body of a message.
func (d *a2uiDecoder) body(at, key, version, id string, m map[string]any) {
	s := d.surface(id)
	if version != "" && key != createSurface && d.known != nil && !s.exists {
		d.add(below(at, "surfaceId"), "a surface that exists, or a createSurface message before this one", "is %q, which does not exist", id)
	}
	switch key {
	case createSurface:
		d.only(at, m, "surfaceId", "catalogId", "theme", "sendDataModel")
		s.catalog = d.text(at, m, "catalogId", true)
		d.object(at, m, "theme", false)
		d.flag(at, m, "sendDataModel")
		if s.exists {
			d.add(below(at, "surfaceId"), "a new id, or updateComponents, or a deleteSurface message before this one", "is %q, which exists", id)
		}
		s.exists, s.isNew, s.root, s.rootAt = true, true, "root", ""
		d.change(builtin.SurfaceChange{ID: id, Version: version, CatalogID: s.catalog})
	case surfaceUpdate, updateComponents:
		d.only(at, m, "surfaceId", "components")
		if !s.exists && key == surfaceUpdate { // the first message of v0.8 creates the surface
			s.exists, s.isNew, s.catalog = true, true, d.standard()
			d.change(builtin.SurfaceChange{ID: id, Version: "v0.8", CatalogID: s.catalog})
		}
		d.componentList(at, key, id, s, m)
	case dataModelUpdate:
		d.only(at, m, "surfaceId", "path", "contents")
		d.pathOf(at, m)
		if contents := d.array(at, m, "contents", true); contents != nil {
			if len(contents) == 0 {
				d.add(below(at, "contents"), "at least one entry", "is empty")
			}
			d.entries(below(at, "contents"), contents)
		}
	case updateDataModel:
		d.only(at, m, "surfaceId", "path", "value")
		d.pathOf(at, m)
	case beginRendering:
		d.only(at, m, "surfaceId", "root", "styles", "catalogId")
		s.root, s.rootAt = d.text(at, m, "root", true), below(at, "root")
		d.object(at, m, "styles", false)
		if c := d.text(at, m, "catalogId", false); c != "" {
			s.catalog = c
			d.change(builtin.SurfaceChange{ID: id, Version: "v0.8", CatalogID: c})
		}
	case deleteSurface:
		d.only(at, m, "surfaceId")
		delete(d.surfaces, id)
		d.surfaces[id] = &drawing{at: map[string]string{}, children: map[string][]string{}}
		d.change(builtin.SurfaceChange{ID: id, Delete: true})
	}
}

// flag checks that a member is true or false.
func (d *a2uiDecoder) flag(at string, m map[string]any, name string) {
	if v, ok := m[name]; ok {
		if _, isBool := v.(bool); !isBool {
			d.add(below(at, name), "true or false", "%s", show(v))
		}
	}
}

// pathOf checks the path of a change of data. Relative ones begin at the root.
func (d *a2uiDecoder) pathOf(at string, m map[string]any) {
	if v, ok := m["path"]; ok {
		if _, isText := v.(string); !isText {
			d.add(below(at, "path"), "a path such as /user/name", "%s", show(v))
		}
	}
}

// entries checks the entries of a data model of v0.8.
func (d *a2uiDecoder) entries(at string, list []any) {
	values := []string{"valueString", "valueNumber", "valueBoolean", "valueMap"}
	for i, v := range list {
		at := below(at, i)
		e, ok := v.(map[string]any)
		if !ok {
			d.add(at, "an object with key and one of "+strings.Join(values, ", "), "%s", show(v))
			continue
		}
		d.only(at, e, append([]string{"key"}, values...)...)
		d.text(at, e, "key", true)
		var has []string
		for _, name := range values {
			if _, ok := e[name]; ok {
				has = append(has, name)
			}
		}
		if len(has) != 1 {
			d.add(at, "exactly one of "+strings.Join(values, ", "), "has %d of them", len(has))
			continue
		}
		ok = true
		switch v := e[has[0]]; has[0] {
		case "valueString":
			_, ok = v.(string)
		case "valueNumber":
			_, ok = v.(float64)
		case "valueBoolean":
			_, ok = v.(bool)
		case "valueMap":
			var inner []any
			if inner, ok = v.([]any); ok {
				d.entries(below(at, "valueMap"), inner)
			}
		}
		if !ok {
			d.add(below(at, has[0]), map[string]string{"valueString": "a text", "valueNumber": "a number", "valueBoolean": "true or false", "valueMap": "an array of entries"}[has[0]],
				"%s", show(e[has[0]]))
		}
	}
}

// componentList decodes the components of a message.
func (d *a2uiDecoder) componentList(at, key, id string, s *drawing, m map[string]any) {
	components := d.array(at, m, "components", true)
	if components == nil {
		return
	}
	at = below(at, "components")
	if len(components) == 0 {
		d.add(at, "at least one component", "is empty")
	}
	if d.components += len(components); d.components > d.limits.Components {
		d.add(at, fmt.Sprintf("at most %d components in a call", d.limits.Components), "has %d, with those before it", d.components)
		return
	}
	actions := map[string][]string{}
	for i, v := range components {
		at := below(at, i)
		c, ok := v.(map[string]any)
		if !ok {
			d.add(at, "an object with id and component", "%s", show(v))
			continue
		}
		name := d.text(at, c, "id", true)
		var made component
		if key == surfaceUpdate {
			made = d.component08(at, s.catalog, c)
		} else {
			made = d.component09(at, s.catalog, c)
		}
		if name == "" {
			continue
		}
		s.at[name], s.children[name] = at, made.children
		actions[name] = made.actions
	}
	d.change(builtin.SurfaceChange{ID: id, Actions: actions})
}

// finish checks the trees of components that the call draws.
func (d *a2uiDecoder) finish() {
	missing := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(d.surfaces)) {
		s := d.surfaces[id]
		if s.isNew && s.root != "" && s.rootAt != "" && s.at[s.root] == "" && len(s.at) > 0 {
			d.add(s.rootAt, "one of its components: "+list(slices.Collect(maps.Keys(s.at))), "is %q, which surface %q does not have", s.root, id)
		}
		t := tree{children: s.children, depths: map[string]int{}}
		for _, name := range slices.Sorted(maps.Keys(s.children)) {
			switch depth := t.depth(name); {
			case depth < 0:
				d.add(s.at[name], "components that do not contain themselves", "component %q contains itself", name)
				return
			case depth > d.limits.Depth:
				d.add(s.at[name], fmt.Sprintf("at most %d levels", d.limits.Depth), "component %q has %d levels of components", name, depth)
				return
			}
			for _, child := range s.children[name] {
				if s.isNew && s.at[child] == "" {
					missing[child] = true
				}
			}
		}
	}
	d.out.Missing = slices.Sorted(maps.Keys(missing))
}

// tree finds how deep components contain each other.
type tree struct {
	children map[string][]string
	depths   map[string]int // 0 while it is being found, -1 in a cycle
}

// depth returns the levels of components below and including name, or -1 if one contains itself.
func (t *tree) depth(name string) int {
	if d, ok := t.depths[name]; ok {
		if d == 0 {
			return -1
		}
		return d
	}
	if _, ok := t.children[name]; !ok {
		return 0 // it is not drawn by this call
	}
	t.depths[name] = 0
	deepest := 0
	for _, child := range t.children[name] {
		d := t.depth(child)
		if d < 0 {
			t.depths[name] = -1
			return -1
		}
		deepest = max(deepest, d)
	}
	t.depths[name] = deepest + 1
	return deepest + 1
}
