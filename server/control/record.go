package control

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
)

// publisherOf returns the caller of a change that is published, with its reason to override gates.
func publisherOf(req *server.Request) (config.Actor, error) {
	a, header := server.ActorOf(req), req.HTTP().Header.Get("X-Awaken-Gate-Override")
	if header == "" {
		return a, nil
	}
	reason, err := url.PathUnescape(header)
	if err == nil {
		reason = strings.TrimSpace(reason)
	}
	if n := utf8.RuneCountInString(reason); err != nil || n == 0 || n > 500 || !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl) {
		return a, protocol.BadRequest("X-Awaken-Gate-Override is %q; want a reason of 1 to 500 characters, percent-encoded if they are not ASCII", header)
	}
	a.Override = reason
	return a, nil
}

// conditionOf parses If-Match and If-None-Match.
func conditionOf(req *server.Request) (config.Condition, error) {
	var out config.Condition
	if s := req.HTTP().Header.Get("If-None-Match"); s != "" {
		if s != "*" {
			return out, protocol.BadRequest("If-None-Match is %q, want *", s)
		}
		out.Absent = true
	}
	s := req.HTTP().Header.Get("If-Match")
	if s == "" {
		return out, nil
	}
	if s == "*" {
		out.Present = true
		return out, nil
	}
	text := strings.TrimPrefix(s, "W/")
	if n := len(text); n > 2 && text[0] == '"' && text[n-1] == '"' {
		text = text[1 : n-1]
	}
	revision, err := strconv.ParseInt(text, 10, 64)
	if err != nil || revision < 0 {
		return out, protocol.BadRequest("If-Match is %q, want the ETag of the record, such as \"3\"", s)
	}
	out.Revision, out.Absent = revision, revision == 0 // the revision of tools without overrides
	return out, nil
}

// show replies with a record and its ETag, unless err is set.
func show(req *server.Request, status int, v *config.View, err error) error {
	if err != nil {
		return err
	}
	req.Writer().Header().Set("ETag", strconv.Quote(strconv.FormatInt(v.Meta.Revision, 10)))
	warn(req, v.Diagnostics)
	return req.Reply(status, v.Spec)
}

// warningHeader has the warnings about a document that is read or written, one in each header: the body is the document.
const warningHeader = "X-Awaken-Warning"

// maxWarnings limits the warnings in the headers of a response. GET /v1/config/diagnostics has all.
const maxWarnings = 20

// warn adds warnings to the headers of the response.
func warn(req *server.Request, list []awaken.Diagnostic) {
	for _, d := range list[:min(len(list), maxWarnings)] {
		text := strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return '?'
			}
			return r
		}, d.Code+": "+d.Message)
		req.Writer().Header().Add(warningHeader, text[:min(len(text), 500)])
	}
}
