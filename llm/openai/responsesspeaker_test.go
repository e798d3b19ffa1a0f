package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
)

// responsesSpeaker is the server side of the Responses API.
type responsesSpeaker struct{}

func (responsesSpeaker) Speak(r providertest.Reply) (parts, end [][]byte) {
	seq := 0
	event := func(kind string, fields object) []byte {
		fields["type"], fields["sequence_number"] = kind, seq
		seq++
		return frame(kind, fields)
	}
	say := func(kind string, fields object) { parts = append(parts, event(kind, fields)) }
	response := func(status string, more object) object {
		o := object{"id": "resp_1", "object": "response", "status": status, "error": nil, "incomplete_details": nil, "output": []any{}, "usage": nil}
		for k, v := range more {
			o[k] = v
		}
		return object{"response": o}
	}
	say("response.created", response("in_progress", nil))
	say("response.in_progress", response("in_progress", nil))
	index := 0
	startCall := func(i int, c providertest.Call) {
		say("response.output_item.added", object{"output_index": i, "item": object{"type": "function_call", "id": fmt.Sprintf("fc_%d", i), "call_id": c.ID, "name": c.Name, "arguments": "", "status": "in_progress"}})
	}
	piece := func(i int, text string) {
		say("response.function_call_arguments.delta", object{"output_index": i, "item_id": fmt.Sprintf("fc_%d", i), "delta": text})
	}
	endCall := func(i int, c providertest.Call) {
		all := strings.Join(c.Args, "")
		say("response.function_call_arguments.done", object{"output_index": i, "item_id": fmt.Sprintf("fc_%d", i), "arguments": all})
		say("response.output_item.done", object{"output_index": i, "item": object{"type": "function_call", "id": fmt.Sprintf("fc_%d", i), "call_id": c.ID, "name": c.Name, "arguments": all, "status": "completed"}})
	}
	for n, p := range r.Parts {
		id := fmt.Sprintf("item_%d", index)
		switch {
		case p.Reasoning != nil:
			say("response.output_item.added", object{"output_index": index, "item": object{"type": "reasoning", "id": id, "summary": []any{}}})
			say("response.reasoning_summary_part.added", object{"output_index": index, "item_id": id, "summary_index": 0, "part": object{"type": "summary_text", "text": ""}})
			for _, t := range p.Reasoning {
				say("response.reasoning_summary_text.delta", object{"output_index": index, "item_id": id, "summary_index": 0, "delta": t})
			}
			all := strings.Join(p.Reasoning, "")
			if n+1 == len(r.Parts) {
				break // it has not ended
			}
			say("response.reasoning_summary_text.done", object{"output_index": index, "item_id": id, "summary_index": 0, "text": all})
			if next := r.Parts[n+1]; next.Opaque == "" {
				say("response.output_item.done", object{"output_index": index, "item": object{"type": "reasoning", "id": id, "summary": []any{object{"type": "summary_text", "text": all}}}})
			}
			index++
		case p.Opaque != "":
			summary := []any{}
			if n > 0 && r.Parts[n-1].Reasoning != nil {
				index--
				id = fmt.Sprintf("item_%d", index)
				summary = append(summary, object{"type": "summary_text", "text": strings.Join(r.Parts[n-1].Reasoning, "")})
			} else {
				say("response.output_item.added", object{"output_index": index, "item": object{"type": "reasoning", "id": id, "summary": []any{}}})
			}
			say("response.output_item.done", object{"output_index": index, "item": object{"type": "reasoning", "id": id, "summary": summary, "encrypted_content": p.Opaque}})
			index++
		case p.Call != nil:
			startCall(index, *p.Call)
			for _, t := range p.Call.Args {
				piece(index, t)
			}
			if n+1 < len(r.Parts) || r.Finish == llm.ToolUse {
				endCall(index, *p.Call)
			}
			index++
		case p.Mixed != nil:
			for j, c := range p.Mixed {
				startCall(index+j, c)
			}
			for i := range p.Mixed[0].Args {
				for j, c := range p.Mixed {
					if i < len(c.Args) {
						piece(index+j, c.Args[i])
					}
				}
			}
			for j, c := range p.Mixed {
				endCall(index+j, c)
			}
			index += len(p.Mixed)
		default:
			say("response.output_item.added", object{"output_index": index, "item": object{"type": "message", "id": id, "role": "assistant", "content": []any{}, "status": "in_progress"}})
			say("response.content_part.added", object{"output_index": index, "item_id": id, "content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": []any{}}})
			for _, t := range p.Text {
				say("response.output_text.delta", object{"output_index": index, "item_id": id, "content_index": 0, "delta": t, "logprobs": []any{}})
			}
			index++
		}
	}
	kind, more := "response.completed", object{}
	status := "completed"
	switch r.Finish {
	case llm.MaxTokens:
		kind, status, more["incomplete_details"] = "response.incomplete", "incomplete", object{"reason": "max_output_tokens"}
	case "":
		kind, status, more["incomplete_details"] = "response.incomplete", "incomplete", object{"reason": "content_filter"}
	}
	if u := r.Usage; u != nil {
		more["usage"] = object{"input_tokens": u.PromptTokens, "output_tokens": u.CompletionTokens, "total_tokens": u.TotalTokens,
			"input_tokens_details": object{"cached_tokens": u.CacheReadTokens}, "output_tokens_details": object{"reasoning_tokens": u.ThinkingTokens}}
	}
	return parts, [][]byte{event(kind, response(status, more))}
}

func (responsesSpeaker) ErrorBody(f providertest.Failure) []byte { return chatSpeaker{}.ErrorBody(f) }

func (responsesSpeaker) ErrorFrame(f providertest.Failure) []byte {
	o := errorObject(f)
	if f.Kind == llm.Provider { // the other way to say it
		return frame("response.failed", object{"type": "response.failed", "response": object{"id": "resp_1", "status": "failed", "error": object{"code": "server_error", "message": f.Message}}})
	}
	return frame("error", object{"type": "error", "code": o["code"], "message": f.Message, "param": nil, "sequence_number": 9})
}

type responsesRequest struct {
	Model        string            `json:"model"`
	Instructions string            `json:"instructions"`
	Input        []json.RawMessage `json:"input"`
	Stream       bool              `json:"stream"`
	Store        *bool             `json:"store"`
	Include      []string          `json:"include"`
	Tools        []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	} `json:"tools"`
	ToolChoice  json.RawMessage `json:"tool_choice"`
	Parallel    *bool           `json:"parallel_tool_calls"`
	Temperature *float64        `json:"temperature"`
	TopP        *float64        `json:"top_p"`
	MaxTokens   *int            `json:"max_output_tokens"`
	CacheKey    string          `json:"prompt_cache_key"`
	Reasoning   *struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
	Text *struct {
		Format struct {
			Type   string          `json:"type"`
			Name   string          `json:"name"`
			Strict *bool           `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"text"`
}

type responsesItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
	Summary   []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"summary"`
}

type responsesPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL string `json:"image_url"`
	Detail   string `json:"detail"`
	FileData string `json:"file_data"`
	FileURL  string `json:"file_url"`
	Filename string `json:"filename"`
}

// Read rejects what OpenAI rejects.
func (responsesSpeaker) Read(r *http.Request, body []byte) (*providertest.Asked, error) {
	if !strings.HasSuffix(r.URL.Path, "/responses") {
		return nil, fmt.Errorf("path is %s", r.URL.Path)
	}
	var q responsesRequest
	if err := strictJSON(body, &q); err != nil {
		return nil, err
	}
	a := &providertest.Asked{Model: q.Model, System: q.Instructions, Stream: q.Stream, CacheKey: q.CacheKey, Temperature: q.Temperature, TopP: q.TopP, MaxTokens: q.MaxTokens, Parallel: q.Parallel}
	a.Key, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if q.Store == nil || *q.Store {
		return nil, errors.New("the response would be stored")
	}
	if len(q.Input) == 0 {
		return nil, errors.New("input is empty")
	}
	if unreasoning.MatchString(q.Model) && (q.Reasoning != nil || len(q.Include) > 0) {
		return nil, errors.New("Unsupported parameter: 'reasoning.effort' is not supported with this model.")
	}
	if q.Reasoning != nil {
		a.Effort = q.Reasoning.Effort
	}
	if err := readItems(a, q.Input); err != nil {
		return nil, err
	}
	for _, t := range q.Tools {
		if !plainName.MatchString(t.Name) || t.Type != "function" || t.Strict == nil {
			return nil, fmt.Errorf("tool %+v", t)
		}
		if err := objectSchema(t.Parameters); err != nil {
			return nil, fmt.Errorf("tool %q: %w", t.Name, err)
		}
		a.Tools = append(a.Tools, providertest.Tool{Name: t.Name, Description: t.Description, Schema: t.Parameters})
	}
	if q.Text != nil {
		if f := q.Text.Format; f.Type != "json_schema" || !plainName.MatchString(f.Name) {
			return nil, fmt.Errorf("text.format %+v", f)
		}
		a.Output = q.Text.Format.Schema
	}
	var err error
	a.Choice, err = readChoice(q.ToolChoice)
	return a, err
}

// readItems reads the input. The items of one reply are one turn.
func readItems(a *providertest.Asked, input []json.RawMessage) error {
	thought := false // the last item is reasoning, which something has to follow
	assistant := func() *providertest.Turn {
		if n := len(a.Turns); n > 0 && a.Turns[n-1].Role == llm.Assistant {
			return &a.Turns[n-1]
		}
		a.Turns = append(a.Turns, providertest.Turn{Role: llm.Assistant})
		return &a.Turns[len(a.Turns)-1]
	}
	for i, raw := range input {
		var it responsesItem
		if err := strictJSON(raw, &it); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
		if thought && (it.Type == "function_call_output" || it.Role != "" && it.Role != "assistant") {
			return fmt.Errorf("input[%d]: reasoning without the item that has to follow it", i)
		}
		thought = it.Type == "reasoning"
		switch it.Type {
		case "reasoning":
			if it.Encrypted == "" || it.ID == "" || it.Summary == nil {
				return fmt.Errorf("input[%d]: reasoning %s", i, raw)
			}
			t := assistant()
			t.Opaque = append(t.Opaque, it.Encrypted)
		case "function_call":
			if it.CallID == "" || len(it.CallID) > 64 || !plainName.MatchString(it.Name) || !json.Valid([]byte(it.Arguments)) {
				return fmt.Errorf("input[%d]: call %s", i, raw)
			}
			t := assistant()
			t.Calls = append(t.Calls, providertest.Call{ID: it.CallID, Name: it.Name, Args: []string{it.Arguments}})
		case "function_call_output":
			t := providertest.Turn{Role: llm.ToolRole, CallID: it.CallID}
			if err := readParts(&t, it.Output, true); err != nil {
				return fmt.Errorf("input[%d]: %w", i, err)
			}
			a.Turns = append(a.Turns, t)
		case "", "message":
			if !slices.Contains([]string{"user", "assistant", "system", "developer"}, it.Role) {
				return fmt.Errorf("input[%d]: role %q", i, it.Role)
			}
			t := providertest.Turn{Role: llm.Role(it.Role)}
			if err := readParts(&t, it.Content, false); err != nil {
				return fmt.Errorf("input[%d]: %w", i, err)
			}
			if t.Text == "" && len(t.Media) == 0 {
				return fmt.Errorf("input[%d]: the message is empty", i)
			}
			if t.Role == llm.Assistant {
				assistant().Text += t.Text
				continue
			}
			a.Turns = append(a.Turns, t)
		default:
			return fmt.Errorf("input[%d]: type %q", i, it.Type)
		}
	}
	if thought {
		return errors.New("reasoning at the end")
	}
	return nil
}

// readParts reads text or a list of parts into a turn.
func readParts(t *providertest.Turn, raw json.RawMessage, output bool) error {
	if json.Unmarshal(raw, &t.Text) == nil && string(raw) != "null" {
		return nil
	}
	var parts []responsesPart
	if err := strictJSON(raw, &parts); err != nil {
		return err
	}
	if t.Role != llm.User && !output || len(parts) == 0 {
		return fmt.Errorf("role %s has %d parts", t.Role, len(parts))
	}
	for _, p := range parts {
		switch {
		case p.Type == "input_text" && p.Text != "":
			t.Text += p.Text
		case p.Type == "input_image" && p.ImageURL != "":
			t.Media = append(t.Media, undata(p.ImageURL))
		case p.Type == "input_file" && (p.FileURL != "") != (p.FileData != ""):
			t.Media = append(t.Media, undata(p.FileData+p.FileURL))
		default:
			return fmt.Errorf("part %+v", p)
		}
	}
	return nil
}
