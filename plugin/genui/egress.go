package genui

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// A page that draws an interface loads its pictures, so an address in an interface carries data to its host.

// Egress implements [awaken.Destined].
func (a2uiTool) Egress(args json.RawMessage) awaken.Egress { return linked(args) }

// Egress implements [awaken.Destined]. What an agent draws is not known before, nor what expressions of OpenUI put together.
func (t *drawTool) Egress(args json.RawMessage) awaken.Egress {
	if _, prompt, err := t.arguments(args); err != nil || prompt != "" || t.tool == openUIFormat.tool {
		return awaken.Egress{}
	}
	return linked(args)
}

// linked returns the hosts of all addresses in arguments. If one is not written in full, as browsers also accept, it may be any host.
func linked(args json.RawMessage) awaken.Egress {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return awaken.Egress{}
	}
	hosts := map[string]bool{}
	known := true
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case string:
			known = links(v, hosts) && known
		case []any:
			for _, e := range v {
				look(e)
			}
		case map[string]any:
			for key, e := range v {
				look(key)
				look(e)
			}
		}
	}
	look(v)
	switch {
	case !known:
		return awaken.Egress{}
	case len(hosts) == 0:
		return awaken.Egress{None: true}
	}
	return awaken.Egress{Hosts: slices.Sorted(maps.Keys(hosts))}
}

// links adds the hosts of the addresses in a text, and reports whether it knows them all.
func links(text string, hosts map[string]bool) bool {
	text = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(strings.ToLower(text)) // as browsers do
	for {
		at := strings.Index(text, "http")
		rest := text
		if at >= 0 {
			rest = text[:at]
		}
		if strings.Contains(rest, "//") || strings.ContainsAny(rest, `\`) {
			return false // an address without a scheme
		}
		if at < 0 {
			return true
		}
		text = text[at:]
		scheme, after, ok := strings.Cut(text, ":")
		if !ok || scheme != "http" && scheme != "https" {
			text = text[len("http"):]
			continue
		}
		if !strings.HasPrefix(after, "//") {
			return false
		}
		end := strings.IndexAny(after[2:], "/?#<> ") // browsers take other characters for a part of the host
		if end < 0 {
			end = len(after) - 2
		}
		e := awaken.EgressTo(scheme + "://" + after[2:2+end])
		if len(e.Hosts) == 0 {
			return false
		}
		hosts[e.Hosts[0]] = true
		text = after[2+end:]
	}
}
