package skills

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"mime"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
)

// The limits of what one call shows the model.
const (
	maxReference = 256 << 10
	maxAsset     = 512 << 10
	maxListed    = 64 // files
)

// fileNames lists the skill's files, at most as many as a model needs.
func (s *Skill) fileNames() []string {
	names := slices.Sorted(maps.Keys(s.Files))
	return names[:min(len(names), maxListed)]
}

// file returns a file of a skill, for a call of a tool. If the run has activated the skill, the file
// belongs to the text that the run has.
func (o *offer) file(call *awaken.ToolCall, skill, name string) (*Skill, string, *awaken.ToolResult) {
	s, refused := o.find(call, skill)
	if refused != nil {
		return nil, "", refused
	}
	clean, err := cleanPath(name)
	if p, ok := errors.AsType[*pathError](err); ok {
		return nil, "", awaken.ErrorResult(p.code, p.message)
	}
	u := used.Get(call)
	if a := u.active(s.Name); a != nil && a.Digest != s.Digest() {
		return nil, "", awaken.ErrorResult("skill_changed", fmt.Sprintf("the skill %q has changed since it was loaded: load it again to use its files", s.Name))
	}
	if _, ok := s.Files[clean]; !ok {
		return nil, "", awaken.ErrorResult("not_found", fmt.Sprintf("the skill %q has no file %q, want one of %q", s.Name, cut(clean, 128), s.fileNames()))
	}
	return s, clean, nil
}

// resourceTool shows the model a file of a skill.
func (o *offer) resourceTool() awaken.Tool {
	type in struct {
		Skill string `json:"skill" jsonschema:"name of the skill"`
		Path  string `json:"path" jsonschema:"path of the file below the skill's folder, such as references/guide.md"`
		Kind  string `json:"kind,omitempty" jsonschema:"enum=reference,enum=asset,description=reference is text; an asset also has a media type; the default follows from the path"`
	}
	type out struct {
		Loaded    bool   `json:"loaded"`
		Path      string `json:"path"`
		Bytes     int    `json:"bytes"`
		Truncated bool   `json:"truncated"`
		Content   string `json:"content"`
		MediaType string `json:"media_type,omitempty"`
		Encoding  string `json:"encoding,omitempty"`
	}
	return awaken.NewTool(awaken.ToolSpec{
		ID:             toolResource,
		Egress:         awaken.Egress{None: true},
		Category:       "skills",
		Effect:         awaken.ReadOnly,
		MaxResultBytes: 2 * maxAsset,
		Description:    "Reads a file that belongs to a skill.",
	},
		func(_ context.Context, call *awaken.ToolCall, in in) (*awaken.ToolResult, error) {
			s, name, refused := o.file(call, in.Skill, in.Path)
			if refused != nil {
				return refused, nil
			}
			data := s.Files[name].Data
			asset := in.Kind == "asset" || in.Kind == "" && strings.HasPrefix(name, "assets/") || !utf8.Valid(data)
			r := out{Loaded: true, Path: name, Bytes: len(data)}
			most := maxReference
			if asset {
				most = maxAsset
				r.MediaType, r.Encoding = mediaType(name, data), "utf-8"
			}
			if r.Truncated = len(data) > most; r.Truncated {
				data = data[:most]
			}
			if r.Content = string(data); !utf8.Valid(s.Files[name].Data) {
				r.Content, r.Encoding = base64.StdEncoding.EncodeToString(data), "base64"
			} else if r.Truncated {
				r.Content = strings.ToValidUTF8(r.Content, "")
			}
			return reply(r, "")
		})
}

func mediaType(name string, data []byte) string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	if utf8.Valid(data) {
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}
