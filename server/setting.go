package server

import (
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// Setting is a setting of the program that runs the server, for its admins.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`            // as it would be in a file; *** for a secret
	Source string `json:"source"`           // where the value is from: a file and line, a variable, a flag or "default"
	Secret bool   `json:"secret,omitempty"` // the value is not shown
	Unused string `json:"unused,omitempty"` // why the setting has no effect, if it has none
	Doc    string `json:"doc,omitempty"`
}

// settings has the handler of the program's settings.
type settings struct{ list []Setting }

func (h *settings) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/system/settings", Needs: permit.ReadServer, Handle: Handle(h.get),
			Summary: "List the settings of this process and where they are from, without secrets", Replies: map[int]any{200: settingList{}}},
	}
}

type settingList struct {
	Items []Setting `json:"items"`
}

func (h *settings) get(req *Request) error {
	out := settingList{Items: []Setting{}}
	for _, s := range h.list {
		if s.Secret && s.Value != "" && s.Value != `""` {
			s.Value = "***" // whatever the program says
		}
		out.Items = append(out.Items, s)
	}
	return req.Reply(200, out)
}
