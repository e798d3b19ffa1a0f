package gemini

import (
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// functions are the names under which Gemini knows tools: as those of other providers, but
// they begin with a letter or _.
type functions struct {
	names provider.Names
	back  map[string]string // of those that did not
}

func newFunctions(req *llm.Request) functions {
	f := functions{names: provider.NewNames(req, 63), back: map[string]string{}}
	for i := range req.Tools {
		name := f.names.Out(req.Tools[i].Name)
		if out := letterFirst(name); out != name {
			f.back[out] = name
		}
	}
	return f
}

// Out is the name to send.
func (f functions) Out(name string) string { return letterFirst(f.names.Out(name)) }

// In is the name of the tool that Gemini calls so.
func (f functions) In(name string) string {
	if in, ok := f.back[name]; ok {
		name = in
	}
	return f.names.In(name)
}

func letterFirst(name string) string {
	if c := name[0]; c >= '0' && c <= '9' || c == '-' {
		return "_" + name
	}
	return name
}
