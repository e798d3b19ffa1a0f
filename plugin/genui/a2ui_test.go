package genui_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/plugin/genui"
	"github.com/awaken-go/awaken/state/builtin"
)

var limits = genui.Limits{Components: 50, Depth: 8, Bytes: 64 << 10}

// card08 is a card of v0.8 with the given component beside it.
func card08(component string) string {
	return `{"messages":[{"surfaceUpdate":{"surfaceId":"s","components":[{"id":"root","component":{"Card":{"child":"x"}}},{"id":"x","component":` + component + `}]}}]}`
}

// card09 is a surface of v0.9 with the given component as its root.
func card09(component string) string {
	return `{"messages":[{"version":"v0.9","createSurface":{"surfaceId":"s","catalogId":"` + genui.BasicCatalog + `"}},
		{"version":"v0.9","updateComponents":{"surfaceId":"s","components":[` + component + `]}}]}`
}

// Every kind of message is accepted: those of v0.8, those of the createSurface family under the versions
// of the manual and of the renderers, alone, in a list and without their key.
func TestParseA2UI_Accepts(t *testing.T) {
	t.Parallel()
	known := map[string]builtin.Surface{"s": {Format: genui.FormatA2UI, CatalogID: genui.BasicCatalog}}
	for name, tt := range map[string]struct {
		args string
		want string // the messages, joined
	}{
		"surfaceUpdate": {`{"surfaceUpdate":{"surfaceId":"n","components":[{"id":"a","weight":1,"component":{"Text":{"text":{"literalString":"hi"},"usageHint":"h1"}}}]}}`,
			`{"surfaceUpdate":{"components":[{"component":{"Text":{"text":{"literalString":"hi"},"usageHint":"h1"}},"id":"a","weight":1}],"surfaceId":"n"}}`},
		"dataModelUpdate": {`{"dataModelUpdate":{"surfaceId":"n","path":"/u","contents":[{"key":"a","valueString":""},{"key":"b","valueNumber":1},{"key":"c","valueBoolean":false},{"key":"d","valueMap":[{"key":"e","valueString":"f"}]}]}}`, ""},
		"beginRendering":  {`{"beginRendering":{"surfaceId":"n","root":"a","styles":{"font":"serif"}}}`, `{"beginRendering":{"root":"a","styles":{"font":"serif"},"surfaceId":"n"}}`},
		"deleteSurface":   {`{"deleteSurface":{"surfaceId":"n"}}`, `{"deleteSurface":{"surfaceId":"n"}}`},
		"the manual's family": {`{"messages":[{"version":"v0.8","createSurface":{"surfaceId":"n","catalogId":"my-catalog"}},
			{"version":"v0.8","updateComponents":{"surfaceId":"n","components":[{"id":"root","component":"Button","label":"Submit","action":{"event":{"name":"go","context":{"id":1}}}}]}},
			{"version":"v0.8","updateDataModel":{"surfaceId":"n","path":"/","value":{"a":[]}}},{"version":"v0.8","deleteSurface":{"surfaceId":"n"}}]}`, ""},
		"v0.9.1":                    {`{"version":"v0.9.1","createSurface":{"surfaceId":"n","catalogId":"c"}}`, `{"createSurface":{"catalogId":"c","surfaceId":"n"},"version":"v0.9.1"}`},
		"the manual's version":      {`{"version":"v0.8","createSurface":{"surfaceId":"n","catalogId":"c"}}`, `{"createSurface":{"catalogId":"c","surfaceId":"n"},"version":"v0.9"}`},
		"no version":                {`{"createSurface":{"surfaceId":"n","catalogId":"c"}}`, `{"createSurface":{"catalogId":"c","surfaceId":"n"},"version":"v0.9"}`},
		"a removal from the model":  {`{"version":"v0.9","updateDataModel":{"surfaceId":"s","path":"/a"}}`, ""},
		"without surfaceUpdate":     {`{"surfaceId":"n","components":[{"id":"a","component":{"Divider":{}}}]}`, `{"surfaceUpdate":{"components":[{"component":{"Divider":{}},"id":"a"}],"surfaceId":"n"}}`},
		"without updateComponents":  {`{"version":"v0.9","surfaceId":"s","components":[{"id":"a","component":"Divider"}]}`, `{"updateComponents":{"components":[{"component":"Divider","id":"a"}],"surfaceId":"s"},"version":"v0.9"}`},
		"without dataModelUpdate":   {`{"messages":[{"surfaceId":"n","contents":[{"key":"a","valueString":"b"}]}]}`, `{"dataModelUpdate":{"contents":[{"key":"a","valueString":"b"}],"surfaceId":"n"}}`},
		"without beginRendering":    {`{"surfaceId":"n","root":"a"}`, `{"beginRendering":{"root":"a","surfaceId":"n"}}`},
		"without createSurface":     {`{"surfaceId":"n","catalogId":"c"}`, `{"createSurface":{"catalogId":"c","surfaceId":"n"},"version":"v0.9"}`},
		"without updateDataModel":   {`{"surfaceId":"s","value":{"a":1}}`, `{"updateDataModel":{"surfaceId":"s","value":{"a":1}},"version":"v0.9"}`},
		"AG-UI's tool":              {`{"surfaceId":"n","components":[{"id":"root","component":"Divider"}],"data":{"a":1}}`, `{"createSurface":{"catalogId":"` + genui.BasicCatalog + `","surfaceId":"n"},"version":"v0.9"},{"updateComponents":{"components":[{"component":"Divider","id":"root"}],"surfaceId":"n"},"version":"v0.9"},{"updateDataModel":{"surfaceId":"n","value":{"a":1}},"version":"v0.9"}`},
		"AG-UI's tool, once more":   {`{"surfaceId":"s","components":[{"id":"root","component":"Divider"}],"data":{"a":1}}`, `{"updateComponents":{"components":[{"component":"Divider","id":"root"}],"surfaceId":"s"},"version":"v0.9"},{"updateDataModel":{"surfaceId":"s","value":{"a":1}},"version":"v0.9"}`},
		"components of a catalogue": {`{"messages":[{"version":"v0.9","createSurface":{"surfaceId":"n","catalogId":"mine"}},{"version":"v0.9","updateComponents":{"surfaceId":"n","components":[{"id":"root","component":"Metric","value":3}]}}]}`, ""},
		"a template of v0.8":        {card08(`{"List":{"children":{"template":{"componentId":"root2","dataBinding":"/items"}}}}`), ""},
		"a template of v0.9":        {card09(`{"id":"root","component":"List","children":{"componentId":"row","path":"/items"}},{"id":"row","component":"Text","text":{"path":"name"}}`), ""},
		"tabs":                      {card09(`{"id":"root","component":"Tabs","tabs":[{"title":"A","child":"a"}]},{"id":"a","component":"Divider"}`), ""},
		"a function":                {card09(`{"id":"root","component":"Button","child":"a","action":{"functionCall":{"call":"openUrl","args":{"url":"https://example.com"}}}},{"id":"a","component":"Divider"}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := map[string]builtin.Surface{"s": known["s"]}
			if strings.Contains(tt.args, `"createSurface":{"surfaceId":"s"`) || strings.Contains(tt.args, `"surfaceUpdate":{"surfaceId":"s"`) {
				known = map[string]builtin.Surface{}
			}
			got, err := genui.ParseA2UI([]byte(tt.args), known, genui.StandardCatalog, limits)
			if err != nil {
				t.Fatal(err)
			}
			var joined []string
			for _, m := range got.Messages {
				joined = append(joined, string(m))
			}
			if s := strings.Join(joined, ","); tt.want != "" && s != tt.want {
				t.Errorf("the messages are\n%s\nwant\n%s", s, tt.want)
			}
			if _, err := genui.ParseA2UI([]byte(`{"messages":[`+strings.Join(joined, ",")+`]}`), known, genui.StandardCatalog, limits); err != nil {
				t.Errorf("the normalised messages are refused: %v", err)
			}
		})
	}
}

// A mistake is reported with its position, what was found and what is accepted.
func TestParseA2UI_Refuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ args, want string }{
		"no JSON":                  {`{`, `/: is no JSON: unexpected end of JSON input, want an object`},
		"no object":                {`[]`, `/: is an array of 0, want an object with messages, or one message`},
		"nothing":                  {`{}`, `/: has no keys, want exactly one of surfaceUpdate, dataModelUpdate, beginRendering, createSurface, updateComponents, updateDataModel, deleteSurface`},
		"only a surface":           {`{"surfaceId":"s"}`, `/: has the keys surfaceId, want exactly one of`},
		"no messages":              {`{"messages":[]}`, `/messages: is empty, want at least one message`},
		"messages of another kind": {`{"messages":"x"}`, `/messages: is "x", want an array of messages`},
		"a message of another":     {`{"messages":[3]}`, `/messages/0: is 3, want an object with one of surfaceUpdate,`},
		"two kinds in one": {`{"messages":[{"deleteSurface":{"surfaceId":"s"},"beginRendering":{"surfaceId":"s","root":"r"}}]}`,
			`/messages/0: has several messages: beginRendering, deleteSurface, want exactly one of`},
		"something beside it":      {`{"deleteSurface":{"surfaceId":"s"},"note":1}`, `/note: is unknown, want one of deleteSurface, version`},
		"an unknown version":       {`{"version":"v1.0","createSurface":{"surfaceId":"n","catalogId":"c"}}`, `/version: is "v1.0", want one of v0.8, v0.9, v0.9.1`},
		"v0.8 as v0.9":             {`{"version":"v0.9","beginRendering":{"surfaceId":"s","root":"r"}}`, `/version: is "v0.9", want v0.8, or none: beginRendering is a message of v0.8`},
		"no surface":               {`{"deleteSurface":{}}`, `/deleteSurface/surfaceId: is missing, want a text`},
		"an empty surface":         {`{"deleteSurface":{"surfaceId":" "}}`, `/deleteSurface/surfaceId: is empty, want a text that is not empty`},
		"a surface that is none":   {`{"version":"v0.9","updateDataModel":{"surfaceId":"other","value":1}}`, `/updateDataModel/surfaceId: is "other", which does not exist, want a surface that exists, or a createSurface message before this one`},
		"a surface that exists":    {`{"version":"v0.9","createSurface":{"surfaceId":"s","catalogId":"c"}}`, `/createSurface/surfaceId: is "s", which exists, want a new id, or updateComponents`},
		"no catalogue":             {`{"version":"v0.9","createSurface":{"surfaceId":"n"}}`, `/createSurface/catalogId: is missing, want a text`},
		"a theme":                  {`{"version":"v0.9","createSurface":{"surfaceId":"n","catalogId":"c","theme":3,"sendDataModel":"yes"}}`, "/createSurface/theme: is 3, want an object\n/createSurface/sendDataModel: is \"yes\", want true or false"},
		"no components":            {`{"surfaceUpdate":{"surfaceId":"s","components":[]}}`, `/surfaceUpdate/components: is empty, want at least one component`},
		"components missing":       {`{"surfaceUpdate":{"surfaceId":"s"}}`, `/surfaceUpdate/components: is missing, want an array`},
		"no id":                    {`{"surfaceUpdate":{"surfaceId":"s","components":[{"component":{"Divider":{}}}]}}`, `/surfaceUpdate/components/0/id: is missing, want a text`},
		"no component":             {`{"surfaceUpdate":{"surfaceId":"s","components":[{"id":"a"}]}}`, `/surfaceUpdate/components/0/component: is missing, want an object`},
		"two types":                {card08(`{"Card":{"child":"a"},"Text":{}}`), `/messages/0/surfaceUpdate/components/1/component: has the keys Card, Text, want exactly one key, the type of the component`},
		"an unknown type":          {card08(`{"Heading":{}}`), `components/1/component/Heading: is of type "Heading", which the catalogue does not have, want one of AudioPlayer, Button, Card, CheckBox,`},
		"a text that is none":      {card08(`{"Text":{"text":"hi"}}`), `components/1/component/Text/text: is "hi", want an object`},
		"a property missing":       {card08(`{"Card":{}}`), `components/1/component/Card/child: is missing, want a value: Card needs child`},
		"an action that is none":   {card08(`{"Button":{"child":"a","action":"go"}}`), `Button/action: is "go", want an object`},
		"an action without a name": {card08(`{"Button":{"child":"a","action":{}}}`), `Button/action/name: is missing, want a text`},
		"a context that is none":   {card08(`{"Button":{"child":"a","action":{"name":"n","context":{}}}}`), `Button/action/context: is an object with no keys, want an array`},
		"a value that is none":     {card08(`{"Button":{"child":"a","action":{"name":"n","context":[{"key":"k","value":1}]}}}`), `Button/action/context/0/value: is 1, want an object`},
		"choices":                  {card08(`{"MultipleChoice":{"choices":[],"options":[],"selections":{}}}`), `MultipleChoice/choices: is no property of MultipleChoice, want options and selections`},
		"no options":               {card08(`{"MultipleChoice":{"selections":{}}}`), `MultipleChoice/options: is missing`},
		"a list of v0.9":           {card08(`{"Column":{"children":["a"]}}`), `Column/children: is an array of 1, want an object with explicitList or template`},
		"a child that is none":     {card08(`{"Card":{"child":{"literalString":"x"}}}`), `Card/child: is an object with the keys literalString, want a text`},
		"a weight":                 {`{"surfaceUpdate":{"surfaceId":"s","components":[{"id":"a","weight":"1","component":{"Divider":{}}}]}}`, `components/0/weight: is "1", want a number`},
		"no contents":              {`{"dataModelUpdate":{"surfaceId":"s","contents":[]}}`, `/dataModelUpdate/contents: is empty, want at least one entry`},
		"two values":               {`{"dataModelUpdate":{"surfaceId":"s","contents":[{"key":"a","valueString":"","valueNumber":1}]}}`, `/dataModelUpdate/contents/0: has 2 of them, want exactly one of valueString, valueNumber, valueBoolean, valueMap`},
		"a value of another kind":  {`{"dataModelUpdate":{"surfaceId":"s","contents":[{"key":"a","valueMap":[{"key":"b","valueNumber":"1"}]}]}}`, `/dataModelUpdate/contents/0/valueMap/0/valueNumber: is "1", want a number`},
		"a path":                   {`{"dataModelUpdate":{"surfaceId":"s","path":1,"contents":[{"key":"a","valueString":""}]}}`, `/dataModelUpdate/path: is 1, want a path such as /user/name`},
		"a root that is missing":   {`{"messages":[{"surfaceUpdate":{"surfaceId":"n","components":[{"id":"a","component":{"Divider":{}}}]}},{"beginRendering":{"surfaceId":"n","root":"b"}}]}`, `/messages/1/beginRendering/root: is "b", which surface "n" does not have, want one of its components: a`},
		"a component of v0.8":      {card09(`{"id":"root","component":{"Text":{}}}`), `components/0/component: is an object with the keys Text, the form of v0.8, want the type as a text`},
		"an event":                 {card09(`{"id":"root","component":"Button","child":"a","action":{"event":{}}}`), `components/0/action/event/name: is missing, want a text`},
		"an action of v0.8":        {card09(`{"id":"root","component":"Button","child":"a","action":{"name":"x"}}`), `components/0/action: has the keys name, want event or functionCall`},
		"a component in itself":    {card09(`{"id":"root","component":"Card","child":"a"},{"id":"a","component":"Card","child":"root"}`), `contains itself, want components that do not contain themselves`},
		"a slash in a name":        {`{"surfaceUpdate":{"surfaceId":"s","components":[{"id":"a","a/b~c":1,"component":{"Divider":{}}}]}}`, `/surfaceUpdate/components/0/a~1b~0c: is unknown, want one of component, id, weight`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := map[string]builtin.Surface{"s": {Format: genui.FormatA2UI, CatalogID: genui.StandardCatalog}}
			if strings.Contains(tt.args, `"createSurface":{"surfaceId":"s","catalogId":"`+genui.BasicCatalog) {
				known = map[string]builtin.Surface{}
			}
			_, err := genui.ParseA2UI([]byte(tt.args), known, genui.StandardCatalog, limits)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("the error is\n%v\nwant\n%s", err, tt.want)
			}
			var p *genui.Problem
			if !errors.As(err, &p) || p.At == "" || p.Found == "" || p.Want == "" {
				t.Errorf("the problem is %+v", p)
			}
		})
	}
}

// One call may draw so much and not more: bytes, components, levels of components, levels of JSON.
func TestParseA2UI_Limits(t *testing.T) {
	t.Parallel()
	many := func(n int, f func(i int) string) string {
		var all []string
		for i := range n {
			all = append(all, f(i))
		}
		return `{"surfaceUpdate":{"surfaceId":"s","components":[` + strings.Join(all, ",") + `]}}`
	}
	flat := func(i int) string { return fmt.Sprintf(`{"id":"c%d","component":{"Divider":{}}}`, i) }
	deep := func(i int) string { return fmt.Sprintf(`{"id":"c%d","component":{"Card":{"child":"c%d"}}}`, i, i+1) }
	for name, tt := range map[string]struct{ good, bad, want string }{
		"components": {many(50, flat), many(51, flat), `/surfaceUpdate/components: has 51, with those before it, want at most 50 components in a call`},
		"depth":      {many(8, deep), many(9, deep), `component "c0" has 9 levels of components, want at most 8 levels`},
		"JSON":       {`{"version":"v0.9","createSurface":{"surfaceId":"s","catalogId":"c","theme":{"a":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}}}`, `{"version":"v0.9","createSurface":{"surfaceId":"s","catalogId":"c","theme":{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}}}`, `/: is nested more than 64 levels deep, want less`},
		"bytes":      {`{"deleteSurface":{"surfaceId":"s"}}`, `{"deleteSurface":{"surfaceId":"` + strings.Repeat("x", 64<<10) + `"}}`, ` bytes, want at most 65536`},
	} {
		if _, err := genui.ParseA2UI([]byte(tt.good), nil, genui.StandardCatalog, limits); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := genui.ParseA2UI([]byte(tt.bad), nil, genui.StandardCatalog, limits); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: the error is %v, want %s", name, err, tt.want)
		}
	}
	var bad []string
	for range 20 {
		bad = append(bad, `{}`)
	}
	_, err := genui.ParseA2UI([]byte(`{"messages":[`+strings.Join(bad, ",")+`]}`), nil, genui.StandardCatalog, limits)
	if err == nil || strings.Count(err.Error(), "\n") != 8 || !strings.HasSuffix(err.Error(), "and 12 more mistakes") {
		t.Errorf("20 mistakes are reported as %v", err)
	}
}

// Whatever a model writes, parsing ends with messages that parse to themselves, or with problems.
func FuzzParseA2UI(f *testing.F) {
	f.Add([]byte(card08(`{"Button":{"child":"a","action":{"name":"n","context":[{"key":"k","value":{"path":"/x"}}]}}}`)))
	f.Add([]byte(card09(`{"id":"root","component":"List","children":{"componentId":"row","path":"/items"}}`)))
	f.Add([]byte(`{"surfaceId":"n","components":[{"id":"root","component":"Divider"}],"data":{"a":1}}`))
	f.Add([]byte(`{"messages":[{"dataModelUpdate":{"surfaceId":"s","contents":[{"key":"d","valueMap":[{"key":"e","valueString":"f"}]}]}},{"beginRendering":{"surfaceId":"s","root":"a"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := genui.ParseA2UI(data, nil, genui.StandardCatalog, limits)
		if err != nil {
			var p *genui.Problem
			if !errors.As(err, &p) {
				t.Fatalf("the error has no position: %v", err)
			}
			return
		}
		again, err := json.Marshal(map[string]any{"messages": got.Messages})
		if err != nil {
			t.Fatal(err)
		}
		next, err := genui.ParseA2UI(again, nil, genui.StandardCatalog, genui.Limits{Components: limits.Components, Depth: limits.Depth + 1, Bytes: 1 << 20})
		if err != nil {
			t.Fatalf("the normalised form is refused: %v\n%s", err, again)
		}
		if len(next.Messages) != len(got.Messages) {
			t.Fatalf("%d messages became %d", len(got.Messages), len(next.Messages))
		}
	})
}
