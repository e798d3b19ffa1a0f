package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// strictly checks a request against the rules of the Messages API, as its reference and its
// error messages state them. It returns the first violation.
func strictly(body []byte) error {
	var r wireRequest
	if err := exactly(body, &r); err != nil {
		return err
	}
	return errors.Join(r.checkHead(), r.checkTools(), r.checkThinking(), r.checkSampling(), r.checkMessages(), r.checkCache(body), r.checkFormat())
}

type wireRequest struct {
	Model         string        `json:"model"`
	MaxTokens     int           `json:"max_tokens"`
	Stream        bool          `json:"stream"`
	System        []wireBlock   `json:"system"`
	Messages      []wireMessage `json:"messages"`
	Temperature   *float64      `json:"temperature"`
	TopP          *float64      `json:"top_p"`
	StopSequences []string      `json:"stop_sequences"`
	Tools         []struct {
		Name         string          `json:"name"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"input_schema"`
		CacheControl *wireCache      `json:"cache_control"`
	} `json:"tools"`
	ToolChoice *struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		Disable *bool  `json:"disable_parallel_tool_use"`
	} `json:"tool_choice"`
	Thinking *struct {
		Type    string `json:"type"`
		Budget  int    `json:"budget_tokens"`
		Display string `json:"display"`
	} `json:"thinking"`
	OutputConfig *struct {
		Effort string `json:"effort"`
		Format *struct {
			Type   string         `json:"type"`
			Schema map[string]any `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

type wireMessage struct {
	Role    string      `json:"role"`
	Content []wireBlock `json:"content"`
}

type wireBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	Source       *wireSource     `json:"source"`
	Title        string          `json:"title"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	Content      []wireBlock     `json:"content"`
	Thinking     *string         `json:"thinking"`
	Signature    string          `json:"signature"`
	Data         string          `json:"data"`
	CacheControl *wireCache      `json:"cache_control"`
}

type wireSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
}

type wireCache struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

// exactly decodes JSON and rejects fields that the API does not have.
func exactly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

var (
	toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	callID   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

func (r *wireRequest) checkHead() error {
	switch {
	case r.Model == "":
		return errors.New("model: field required")
	case r.MaxTokens < 1:
		return errors.New("max_tokens: field required")
	case !r.Stream:
		return errors.New("stream: want true")
	}
	for i, b := range r.System {
		if b.Type != "text" || strings.TrimSpace(b.Text) == "" {
			return fmt.Errorf("system.%d: text content blocks must be non-empty", i)
		}
	}
	for _, s := range r.StopSequences {
		if strings.TrimSpace(s) == "" {
			return errors.New("stop_sequences: each stop sequence must contain non-whitespace")
		}
	}
	return nil
}

func (r *wireRequest) checkTools() error {
	seen := map[string]bool{}
	for i, t := range r.Tools {
		var schema struct {
			Type string `json:"type"`
		}
		switch {
		case !toolName.MatchString(t.Name):
			return fmt.Errorf("tools.%d.name: %q does not match", i, t.Name)
		case seen[t.Name]:
			return fmt.Errorf("tools: tool names must be unique: %s", t.Name)
		case json.Unmarshal(t.InputSchema, &schema) != nil || schema.Type != "object":
			return fmt.Errorf("tools.%d.input_schema.type: want object", i)
		}
		seen[t.Name] = true
	}
	c := r.ToolChoice
	if c == nil {
		return nil
	}
	switch {
	case len(r.Tools) == 0:
		return errors.New("tool_choice may only be specified while providing tools")
	case !slices.Contains([]string{"auto", "any", "tool", "none"}, c.Type):
		return fmt.Errorf("tool_choice.type: %q", c.Type)
	case c.Type == "none" && c.Disable != nil:
		return errors.New("tool_choice.none.disable_parallel_tool_use: extra inputs are not permitted")
	case (c.Type == "tool") != (c.Name != ""), c.Name != "" && !seen[c.Name]:
		return fmt.Errorf("tool_choice: tool %q not found", c.Name)
	}
	return nil
}

func (r *wireRequest) forced() bool {
	return r.ToolChoice != nil && (r.ToolChoice.Type == "any" || r.ToolChoice.Type == "tool")
}

// What the models accept, according to their documentation.
var (
	adaptiveOnly = regexp.MustCompile(`opus-4-[78]|-5`)
	adaptiveToo  = regexp.MustCompile(`-4-6`)
	alwaysOn     = regexp.MustCompile(`(fable|mythos)-5`)
	noSampling   = regexp.MustCompile(`opus-4-[78]|-5$|-5-5`)
	oneSampling  = regexp.MustCompile(`opus-4-1|-4-[56]`)
)

// oldest matches the models before thinking.
var oldest = regexp.MustCompile(`claude-(2|instant|3-5|3-(opus|sonnet|haiku))`)

func (r *wireRequest) checkThinking() error {
	t := r.Thinking
	newest := adaptiveOnly.MatchString(r.Model) && !strings.Contains(r.Model, "4-5") && !strings.Contains(r.Model, "3-5")
	switch {
	case t == nil:
		if newest && strings.HasPrefix(r.Model, "claude-") && strings.Contains(r.Model, "sonnet-5") && r.forced() {
			return errors.New("thinking may not be enabled when tool_choice forces tool use")
		}
		return nil
	case oldest.MatchString(r.Model):
		return errors.New("thinking is not supported by this model")
	case t.Type == "enabled":
		switch {
		case newest:
			return errors.New(`"thinking.type.enabled" is not supported for this model`)
		case t.Budget < 1024:
			return errors.New("thinking.enabled.budget_tokens: input should be greater than or equal to 1024")
		case t.Budget >= r.MaxTokens:
			return errors.New("max_tokens must be greater than thinking.budget_tokens")
		case r.forced():
			return errors.New("thinking may not be enabled when tool_choice forces tool use")
		}
		if n := len(r.Messages); n >= 2 && r.Messages[n-1].Content[0].Type == "tool_result" {
			if first := r.Messages[n-2].Content[0].Type; first != "thinking" && first != "redacted_thinking" {
				return fmt.Errorf("expected thinking or redacted_thinking, but found %s", first)
			}
		}
	case t.Type == "adaptive":
		switch {
		case !newest && !adaptiveToo.MatchString(r.Model):
			return errors.New("adaptive thinking is not supported on this model")
		case t.Budget != 0:
			return errors.New("thinking.adaptive.budget_tokens: extra inputs are not permitted")
		case r.forced():
			return errors.New("thinking may not be enabled when tool_choice forces tool use")
		}
	case t.Type == "disabled":
		if alwaysOn.MatchString(r.Model) {
			return errors.New(`"thinking.type.disabled" is not supported for this model`)
		}
	default:
		return fmt.Errorf("thinking.type: %q", t.Type)
	}
	return nil
}

func (r *wireRequest) checkSampling() error {
	thinking := r.Thinking != nil && r.Thinking.Type != "disabled"
	newest := noSampling.MatchString(r.Model) && !strings.Contains(r.Model, "4-5") && !strings.Contains(r.Model, "3-5")
	switch {
	case newest && (r.Temperature != nil || r.TopP != nil):
		return errors.New("temperature and top_p are not supported by this model")
	case thinking && r.Temperature != nil && *r.Temperature != 1:
		return errors.New("temperature may only be set to 1 when thinking is enabled")
	case thinking && r.TopP != nil && *r.TopP < 0.95:
		return errors.New("top_p must be at least 0.95 when thinking is enabled")
	case oneSampling.MatchString(r.Model) && r.Temperature != nil && r.TopP != nil:
		return errors.New("temperature and top_p cannot both be specified for this model")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 1):
		return errors.New("temperature: range: 0..1")
	}
	return nil
}

func (r *wireRequest) checkMessages() error {
	if len(r.Messages) == 0 {
		return errors.New("messages: at least one message is required")
	}
	ids := map[string]bool{}
	var open []string // the calls of the message before
	defined := len(r.Tools) > 0
	for i, m := range r.Messages {
		want := []string{"user", "assistant"}[i%2]
		if m.Role != want {
			return fmt.Errorf("messages.%d: role %s, want %s", i, m.Role, want)
		}
		if len(m.Content) == 0 {
			return fmt.Errorf("messages.%d: content must be non-empty", i)
		}
		var answered, calls []string
		for j, b := range m.Content {
			at := fmt.Sprintf("messages.%d.content.%d", i, j)
			if err := b.check(at, m.Role); err != nil {
				return err
			}
			switch b.Type {
			case "tool_use":
				if ids[b.ID] {
					return fmt.Errorf("%s: tool_use ids must be unique: %s", at, b.ID)
				}
				ids[b.ID] = true
				calls = append(calls, b.ID)
				if !defined {
					return errors.New("requests which include tool_use or tool_result blocks must define tools")
				}
			case "tool_result":
				if j != len(answered) {
					return fmt.Errorf("%s: tool_result blocks must come first", at)
				}
				answered = append(answered, b.ToolUseID)
			default:
				if len(calls) > 0 {
					return fmt.Errorf("%s: %s after tool_use", at, b.Type)
				}
			}
		}
		slices.Sort(answered)
		slices.Sort(open)
		if !slices.Equal(answered, open) {
			return fmt.Errorf("messages.%d: tool_use ids %v need results, found %v", i, open, answered)
		}
		open = calls
		if last := m.Content[len(m.Content)-1].Type; last == "thinking" || last == "redacted_thinking" {
			return fmt.Errorf("messages.%d: the final block in an assistant message cannot be thinking", i)
		}
	}
	if r.Messages[len(r.Messages)-1].Role != "user" {
		return errors.New("this model does not support assistant message prefill")
	}
	return nil
}

func (b *wireBlock) check(at, role string) error {
	if b.Type != "text" && b.Text != "" || b.Type != "tool_use" && b.ID+b.Name != "" || b.Type != "tool_result" && b.ToolUseID != "" {
		return fmt.Errorf("%s: fields of other types", at)
	}
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			return fmt.Errorf("%s: text content blocks must contain non-whitespace text", at)
		}
		return nil
	case "image", "document":
		if role == "assistant" {
			return fmt.Errorf("%s: %s blocks are not permitted within assistant turns", at, b.Type)
		}
		return b.Source.check(at, b.Type)
	case "tool_use":
		var input map[string]any
		if role != "assistant" || !callID.MatchString(b.ID) || !toolName.MatchString(b.Name) || json.Unmarshal(b.Input, &input) != nil || input == nil {
			return fmt.Errorf("%s: tool_use %q %q %s by %s", at, b.ID, b.Name, b.Input, role)
		}
		return nil
	case "tool_result":
		if role != "user" {
			return fmt.Errorf("%s: tool_result by %s", at, role)
		}
		for i := range b.Content {
			if t := b.Content[i].Type; t != "text" && t != "image" && t != "document" {
				return fmt.Errorf("%s: %s in a tool_result", at, t)
			}
			if err := b.Content[i].check(fmt.Sprintf("%s.content.%d", at, i), role); err != nil {
				return err
			}
		}
		return nil
	case "thinking":
		if role != "assistant" || b.Thinking == nil || b.Signature == "" {
			return fmt.Errorf("%s: invalid signature %q in thinking block", at, b.Signature)
		}
		return nil
	case "redacted_thinking":
		if role != "assistant" || b.Data == "" {
			return fmt.Errorf("%s: redacted_thinking without data", at)
		}
		return nil
	}
	return fmt.Errorf("%s: type %q", at, b.Type)
}

func (s *wireSource) check(at, kind string) error {
	if s == nil {
		return fmt.Errorf("%s: source: field required", at)
	}
	switch {
	case s.Type == "url" && s.URL != "" && s.Data+s.MediaType == "":
	case s.Type == "base64" && kind == "image" && slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, s.MediaType),
		s.Type == "base64" && kind == "document" && s.MediaType == "application/pdf":
		if _, err := base64.StdEncoding.DecodeString(s.Data); err != nil || s.Data == "" {
			return fmt.Errorf("%s: data is not base64", at)
		}
	case s.Type == "text" && kind == "document" && s.MediaType == "text/plain" && s.Data != "":
	default:
		return fmt.Errorf("%s: source %+v", at, *s)
	}
	return nil
}

func (r *wireRequest) checkCache(body []byte) error {
	if n := bytes.Count(body, []byte(`"cache_control"`)); n > 4 {
		return fmt.Errorf("a maximum of 4 blocks with cache_control may be provided, found %d", n)
	}
	for i, m := range r.Messages {
		for j, b := range m.Content {
			if b.CacheControl != nil && (b.CacheControl.Type != "ephemeral" || strings.Contains(b.Type, "thinking")) {
				return fmt.Errorf("messages.%d.content.%d: cache_control", i, j)
			}
		}
	}
	return nil
}

func (r *wireRequest) checkFormat() error {
	if r.OutputConfig == nil {
		return nil
	}
	if e := r.OutputConfig.Effort; e != "" && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, e) {
		return fmt.Errorf("output_config.effort: %q", e)
	}
	if f := r.OutputConfig.Format; f != nil {
		if f.Type != "json_schema" {
			return fmt.Errorf("output_config.format.type: %q", f.Type)
		}
		return formatSchema(f.Schema)
	}
	return nil
}

func formatSchema(s map[string]any) error {
	for _, k := range []string{"minimum", "maximum", "minLength", "maxLength", "multipleOf", "patternProperties", "oneOf"} {
		if _, ok := s[k]; ok {
			return fmt.Errorf("output_config.format.schema: %s is not supported", k)
		}
	}
	if s["type"] == "object" && s["additionalProperties"] != false {
		return errors.New("output_config.format.schema: for object type, additionalProperties must be explicitly set to false")
	}
	if props, ok := s["properties"].(map[string]any); ok {
		for _, p := range props {
			if err := formatSchema(p.(map[string]any)); err != nil {
				return err
			}
		}
	}
	if items, ok := s["items"].(map[string]any); ok {
		return formatSchema(items)
	}
	return nil
}
