package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
)

// strictly checks a request against the rules of the API, as its reference and its error
// messages state them. It returns the first violation.
func strictly(model string, body []byte) error {
	var r wireRequest
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	third := regexp.MustCompile(`gemini-3`).MatchString(model)
	return errors.Join(r.checkContents(third), r.checkTools(third), r.checkConfig(model, third))
}

type wireRequest struct {
	Contents          []wireContent `json:"contents"`
	SystemInstruction *wireContent  `json:"systemInstruction"`
	Tools             []struct {
		FunctionDeclarations []struct {
			Name        string         `json:"name"`
			Description string         `json:"description"`
			Parameters  map[string]any `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	ToolConfig *struct {
		FunctionCallingConfig struct {
			Mode    string   `json:"mode"`
			Allowed []string `json:"allowedFunctionNames"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	GenerationConfig struct {
		Temperature      *float64       `json:"temperature"`
		TopP             *float64       `json:"topP"`
		MaxOutputTokens  *int           `json:"maxOutputTokens"`
		Seed             *int32         `json:"seed"`
		StopSequences    []string       `json:"stopSequences"`
		ResponseMIMEType string         `json:"responseMimeType"`
		ResponseSchema   map[string]any `json:"responseJsonSchema"`
		ThinkingConfig   *struct {
			IncludeThoughts bool   `json:"includeThoughts"`
			ThinkingBudget  *int   `json:"thinkingBudget"`
			ThinkingLevel   string `json:"thinkingLevel"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type wireContent struct {
	Role  string     `json:"role"`
	Parts []wirePart `json:"parts"`
}

type wirePart struct {
	Text             *string  `json:"text"`
	Thought          bool     `json:"thought"`
	ThoughtSignature string   `json:"thoughtSignature"`
	InlineData       *wireBin `json:"inlineData"`
	FileData         *struct {
		MIMEType string `json:"mimeType"`
		FileURI  string `json:"fileUri"`
	} `json:"fileData"`
	FunctionCall *struct {
		ID   string         `json:"id"`
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string         `json:"id"`
		Name     string         `json:"name"`
		Response map[string]any `json:"response"`
		Parts    []wirePart     `json:"parts"`
	} `json:"functionResponse"`
}

type wireBin struct {
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"`
}

var functionName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

func (p *wirePart) check(third bool) error {
	kinds := 0
	for _, has := range []bool{p.Text != nil, p.InlineData != nil, p.FileData != nil, p.FunctionCall != nil, p.FunctionResponse != nil} {
		if has {
			kinds++
		}
	}
	if kinds != 1 && !(kinds == 0 && p.Thought) {
		return fmt.Errorf("required oneof field 'data' must have one initialized field, found %d", kinds)
	}
	if p.Text != nil && *p.Text == "" {
		return errors.New("empty text parameter")
	}
	if p.ThoughtSignature != "" {
		if _, err := base64.StdEncoding.DecodeString(p.ThoughtSignature); err != nil {
			return fmt.Errorf("invalid value at thought_signature (TYPE_BYTES): %w", err)
		}
	}
	if p.InlineData != nil {
		if _, err := base64.StdEncoding.DecodeString(p.InlineData.Data); err != nil || p.InlineData.Data == "" || p.InlineData.MIMEType == "" {
			return errors.New("inline_data: mime type and base64 data required")
		}
	}
	if p.FileData != nil && (p.FileData.FileURI == "" || p.FileData.MIMEType == "") {
		return errors.New("file_data: mime type and uri required")
	}
	if c := p.FunctionCall; c != nil && (!functionName.MatchString(c.Name) || c.Args == nil) {
		return fmt.Errorf("function_call: %q %v", c.Name, c.Args)
	}
	if r := p.FunctionResponse; r != nil {
		if !functionName.MatchString(r.Name) || r.Response == nil {
			return fmt.Errorf("function_response: %q %v", r.Name, r.Response)
		}
		if len(r.Parts) > 0 && !third {
			return errors.New("function_response.parts: not supported by this model")
		}
		for i := range r.Parts {
			if r.Parts[i].InlineData == nil {
				return errors.New("function_response.parts: want inline data")
			}
		}
	}
	return nil
}

// turn is the kind of a content: plain, calls or results.
func (c *wireContent) turn() (calls, answers, other int) {
	for i := range c.Parts {
		switch p := &c.Parts[i]; {
		case p.FunctionCall != nil:
			calls++
		case p.FunctionResponse != nil:
			answers++
		default:
			other++
		}
	}
	return calls, answers, other
}

func (r *wireRequest) checkContents(third bool) error {
	if len(r.Contents) == 0 {
		return errors.New("contents is not specified")
	}
	if s := r.SystemInstruction; s != nil {
		for i := range s.Parts {
			if s.Parts[i].Text == nil || *s.Parts[i].Text == "" {
				return errors.New("system_instruction: text required")
			}
		}
	}
	current := 0 // the current turn begins at the last text of a user
	for i := range r.Contents {
		c := &r.Contents[i]
		if len(c.Parts) == 0 || c.Role != "user" && c.Role != "model" {
			return fmt.Errorf("contents[%d]: role %q with %d parts", i, c.Role, len(c.Parts))
		}
		for j := range c.Parts {
			if err := c.Parts[j].check(third); err != nil {
				return fmt.Errorf("contents[%d].parts[%d]: %w", i, j, err)
			}
		}
		calls, answers, other := c.turn()
		if c.Role == "user" && other > 0 {
			current = i
		}
		if c.Role == "user" && calls > 0 || c.Role == "model" && answers > 0 || answers > 0 && other > 0 {
			return fmt.Errorf("contents[%d]: %s has %d calls, %d responses, %d others", i, c.Role, calls, answers, other)
		}
		var before *wireContent
		var open int
		if i > 0 {
			before = &r.Contents[i-1]
			open, _, _ = before.turn()
		}
		switch {
		case before == nil && c.Role != "user":
			return errors.New("please ensure that the first turn is a user turn")
		case open != answers:
			return fmt.Errorf("contents[%d]: the number of function response parts (%d) must equal the number of function call parts of the function call turn (%d)", i, answers, open)
		case before != nil && before.Role == c.Role && c.Role == "model":
			return fmt.Errorf("contents[%d]: two model turns", i)
		case before != nil && before.Role == c.Role && answers == 0:
			if _, was, _ := before.turn(); was == 0 {
				return fmt.Errorf("contents[%d]: two user turns", i)
			}
		}
		if answers > 0 {
			if err := matches(before, c); err != nil {
				return fmt.Errorf("contents[%d]: %w", i, err)
			}
		}
	}
	if r.Contents[len(r.Contents)-1].Role != "user" {
		return errors.New("please ensure that the last turn is a user turn or a function response turn")
	}
	for i := current; third && i < len(r.Contents); i++ {
		for _, p := range r.Contents[i].Parts {
			if p.FunctionCall != nil {
				if p.ThoughtSignature == "" {
					return fmt.Errorf("contents[%d]: function call is missing a thought_signature in functionCall parts", i)
				}
				break
			}
		}
	}
	return nil
}

func matches(asked, answered *wireContent) error {
	var calls []string
	for _, p := range asked.Parts {
		if p.FunctionCall != nil {
			calls = append(calls, p.FunctionCall.ID+" "+p.FunctionCall.Name)
		}
	}
	for i, p := range answered.Parts {
		if got := p.FunctionResponse.ID + " " + p.FunctionResponse.Name; got != calls[i] {
			return fmt.Errorf("function response %q to function call %q", got, calls[i])
		}
	}
	return nil
}

func (r *wireRequest) checkTools(third bool) error {
	var names []string
	for _, t := range r.Tools {
		for _, f := range t.FunctionDeclarations {
			if !functionName.MatchString(f.Name) || slices.Contains(names, f.Name) {
				return fmt.Errorf("invalid or duplicate function declaration name %q", f.Name)
			}
			if f.Parameters != nil && f.Parameters["type"] != "object" {
				return fmt.Errorf("function %s: parameters must be of type object", f.Name)
			}
			names = append(names, f.Name)
		}
	}
	if c := r.ToolConfig; c != nil {
		f := c.FunctionCallingConfig
		switch {
		case len(names) == 0:
			return errors.New("function calling config is set without function_declarations")
		case !slices.Contains([]string{"AUTO", "ANY", "NONE"}, f.Mode):
			return fmt.Errorf("function_calling_config.mode: %q", f.Mode)
		case len(f.Allowed) > 0 && f.Mode != "ANY":
			return errors.New("allowed_function_names should only be set when the mode is ANY")
		}
		for _, n := range f.Allowed {
			if !slices.Contains(names, n) {
				return fmt.Errorf("allowed_function_names: %q is not declared", n)
			}
		}
	}
	if r.GenerationConfig.ResponseMIMEType == "application/json" && len(names) > 0 && !third {
		return errors.New("function calling with a response mime type: 'application/json' is unsupported")
	}
	return nil
}

func (r *wireRequest) checkConfig(model string, third bool) error {
	g := &r.GenerationConfig
	if (g.ResponseSchema != nil) != (g.ResponseMIMEType == "application/json") {
		return errors.New("response_schema and response_mime_type belong together")
	}
	t := g.ThinkingConfig
	if t == nil {
		return nil
	}
	switch {
	case t.ThinkingBudget != nil && t.ThinkingLevel != "":
		return errors.New("cannot use thinking_budget and thinking_level at once")
	case t.ThinkingLevel != "" && !third:
		return errors.New("thinking level is not supported for this model")
	case t.ThinkingLevel != "" && !slices.Contains([]string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}, t.ThinkingLevel):
		return fmt.Errorf("thinking_level: %q", t.ThinkingLevel)
	case model == "gemini-2.5-pro" && (*t.ThinkingBudget < 128 || *t.ThinkingBudget > 32768),
		model == "gemini-2.5-flash" && (*t.ThinkingBudget < 0 || *t.ThinkingBudget > 24576):
		return fmt.Errorf("the thinking budget %d is invalid", *t.ThinkingBudget)
	case model == "gemini-2.0-flash":
		return errors.New("thinking is not enabled for this model")
	}
	return nil
}
