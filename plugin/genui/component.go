package genui

import (
	"maps"
	"slices"
)

// component is what matters about a component besides its own properties.
type component struct {
	children []string // components that it refers to
	actions  []string // names of the actions that it offers
}

// kind is a type of component of a catalogue of the project.
type kind struct {
	required []string
	children []string // properties that name one component
	lists    []string // properties that name several
}

// standard is the catalogue of v0.8.
var standard = map[string]kind{
	"Text": {required: []string{"text"}}, "Image": {required: []string{"url"}}, "Icon": {required: []string{"name"}}, "Video": {required: []string{"url"}},
	"AudioPlayer": {required: []string{"url"}}, "Row": {required: []string{"children"}, lists: []string{"children"}},
	"Column": {required: []string{"children"}, lists: []string{"children"}}, "List": {required: []string{"children"}, lists: []string{"children"}},
	"Card": {required: []string{"child"}, children: []string{"child"}}, "Tabs": {required: []string{"tabItems"}, lists: []string{"tabItems"}}, "Divider": {},
	"Modal": {required: []string{"entryPointChild", "contentChild"}, children: []string{"entryPointChild", "contentChild"}}, "Button": {required: []string{"child", "action"}, children: []string{"child"}},
	"CheckBox": {required: []string{"label", "value"}}, "TextField": {required: []string{"label"}}, "DateTimeInput": {required: []string{"value"}},
	"MultipleChoice": {required: []string{"selections", "options"}}, "Slider": {required: []string{"value"}},
}

// basic is the catalogue of v0.9.
var basic = map[string]kind{
	"Text": {required: []string{"text"}}, "Image": {required: []string{"url"}}, "Icon": {required: []string{"name"}}, "Video": {required: []string{"url"}},
	"AudioPlayer": {required: []string{"url"}}, "Row": {required: []string{"children"}, lists: []string{"children"}},
	"Column": {required: []string{"children"}, lists: []string{"children"}}, "List": {required: []string{"children"}, lists: []string{"children"}},
	"Card": {required: []string{"child"}, children: []string{"child"}}, "Tabs": {required: []string{"tabs"}, lists: []string{"tabs"}}, "Divider": {},
	"Modal": {required: []string{"trigger", "content"}, children: []string{"trigger", "content"}}, "Button": {required: []string{"child", "action"}, children: []string{"child"}},
	"TextField": {required: []string{"label"}}, "CheckBox": {required: []string{"label", "value"}}, "ChoicePicker": {required: []string{"options", "value"}},
	"Slider": {required: []string{"value", "max"}}, "DateTimeInput": {required: []string{"value"}},
}

// other is a type of component of another catalogue: its properties child and children name components.
var other = kind{children: []string{"child"}, lists: []string{"children"}}

// typed finds a type in a catalogue, and checks the properties that it requires.
func (d *a2uiDecoder) typed(at, atType, name, catalog string, p map[string]any) kind {
	var known map[string]kind
	switch catalog {
	case StandardCatalog:
		known = standard
	case BasicCatalog:
		known = basic
	default:
		return other
	}
	k, ok := known[name]
	if !ok {
		d.add(atType, "one of "+list(slices.Collect(maps.Keys(known))), "is of type %q, which the catalogue does not have", name)
		return other
	}
	for _, r := range k.required {
		if _, ok := p[r]; !ok {
			d.add(below(at, r), "a value: "+name+" needs "+r, "is missing")
		}
	}
	return k
}

// component08 decodes a component of v0.8: {"id", "weight"?, "component": {Type: {…}}}.
func (d *a2uiDecoder) component08(at, catalog string, c map[string]any) (out component) {
	d.only(at, c, "id", "weight", "component")
	d.weight(at, c)
	wrapper := d.object(at, c, "component", true)
	if wrapper == nil {
		return out
	}
	at = below(at, "component")
	if len(wrapper) != 1 {
		d.add(at, "exactly one key, the type of the component", "has %s", keysOf(wrapper))
		return out
	}
	for name := range wrapper {
		p := d.object(at, wrapper, name, true)
		if p == nil {
			return out
		}
		at := below(at, name)
		k := d.typed(at, at, name, catalog, p)
		out.children = d.references(at, k, p, false)
		switch name {
		case "Text":
			if _, ok := p["text"]; ok {
				d.object(at, p, "text", true)
			}
		case "Button":
			if _, ok := p["action"]; ok {
				out.actions = d.action08(below(at, "action"), d.object(at, p, "action", true))
			}
		case "MultipleChoice":
			d.array(at, p, "options", true)
			d.object(at, p, "selections", true)
			for _, wrong := range []string{"choices", "label", "value"} {
				if _, ok := p[wrong]; ok {
					d.add(below(at, wrong), "options and selections", "is no property of MultipleChoice")
				}
			}
		default:
			if a, ok := p["action"].(map[string]any); ok {
				out.actions = d.action08(below(at, "action"), a)
			}
		}
	}
	return out
}

// weight checks the share of space that a component has.
func (d *a2uiDecoder) weight(at string, c map[string]any) {
	if w, ok := c["weight"]; ok {
		if _, isNumber := w.(float64); !isNumber {
			d.add(below(at, "weight"), "a number", "%s", show(w))
		}
	}
}

// action08 checks an action of v0.8, and returns its name.
func (d *a2uiDecoder) action08(at string, a map[string]any) []string {
	if a == nil {
		return nil
	}
	name := d.text(at, a, "name", true)
	for i, v := range d.array(at, a, "context", false) {
		at := below(below(at, "context"), i)
		e, ok := v.(map[string]any)
		if !ok {
			d.add(at, `an object with key and value`, "%s", show(v))
			continue
		}
		d.text(at, e, "key", true)
		d.object(at, e, "value", true)
	}
	if name == "" {
		return nil
	}
	return []string{name}
}

// component09 decodes a component of v0.9: {"id", "component": Type, …}.
func (d *a2uiDecoder) component09(at, catalog string, c map[string]any) (out component) {
	d.weight(at, c)
	if wrapper, ok := c["component"].(map[string]any); ok {
		d.add(below(at, "component"), `the type as a text, with the properties beside it, such as {"id": "t", "component": "Text", "text": "Hello"}`, "%s, the form of v0.8", show(wrapper))
		return out
	}
	name := d.text(at, c, "component", true)
	if name == "" {
		return out
	}
	k := d.typed(at, below(at, "component"), name, catalog, c)
	out.children = d.references(at, k, c, true)
	a, ok := c["action"]
	if !ok {
		return out
	}
	at = below(at, "action")
	action, ok := a.(map[string]any)
	switch {
	case !ok:
		d.add(at, `an object with event or functionCall`, "%s", show(a))
	case action["event"] != nil:
		if event := d.object(at, action, "event", true); event != nil {
			if name := d.text(below(at, "event"), event, "name", true); name != "" {
				out.actions = []string{name}
			}
			d.object(below(at, "event"), event, "context", false)
		}
	case action["functionCall"] != nil:
		if call := d.object(at, action, "functionCall", true); call != nil {
			d.text(below(at, "functionCall"), call, "call", true)
		}
	default:
		d.add(at, `event or functionCall`, "has %s", keysOf(action))
	}
	return out
}

// references returns the components that the properties of a component refer to. Flat is set for v0.9, whose
// lists are arrays.
func (d *a2uiDecoder) references(at string, k kind, p map[string]any, flat bool) (out []string) {
	for _, name := range k.children {
		if _, ok := p[name]; ok {
			if id := d.text(at, p, name, true); id != "" {
				out = append(out, id)
			}
		}
	}
	for _, name := range k.lists {
		if v, ok := p[name]; ok {
			if ids, isArray := v.([]any); isArray && !flat && name == "children" {
				d.add(below(at, name), `an object with explicitList or template: lists of v0.8 are {"explicitList": [ids]}`, "%s", show(ids))
				continue
			}
			out = append(out, d.childList(below(at, name), v)...)
		}
	}
	return out
}

// childList returns the components of a list: ids, items that name one, or a template.
func (d *a2uiDecoder) childList(at string, v any) (out []string) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			switch e := e.(type) {
			case string:
				out = append(out, e)
			case map[string]any:
				if id := d.text(below(at, i), e, "child", true); id != "" {
					out = append(out, id)
				}
			default:
				d.add(below(at, i), "the id of a component", "%s", show(e))
			}
		}
	case map[string]any:
		switch {
		case v["explicitList"] != nil:
			return d.childList(below(at, "explicitList"), v["explicitList"])
		case v["template"] != nil:
			if t := d.object(at, v, "template", true); t != nil {
				if id := d.text(below(at, "template"), t, "componentId", true); id != "" {
					out = append(out, id)
				}
			}
		case v["componentId"] != nil:
			if id := d.text(at, v, "componentId", true); id != "" {
				out = append(out, id)
			}
			d.text(at, v, "path", true)
		default:
			d.add(at, "a list of ids of components, or a template", "%s", show(v))
		}
	default:
		d.add(at, "a list of ids of components, or a template", "%s", show(v))
	}
	return out
}
