package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol/mcp"
)

// pixel is a PNG of one pixel, and silence a WAV without samples, in base64.
const (
	pixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
)

func file(kind llm.BlockType, mediaType, data, title string) llm.Block {
	return llm.Block{Type: kind, Title: title, Source: &llm.Source{Type: "base64", MediaType: mediaType, Data: data}}
}

func document(uri, mediaType, text string) llm.Block {
	return file(llm.DocumentBlock, mediaType, base64.StdEncoding.EncodeToString([]byte(text)), uri)
}

func returns(id string, blocks ...llm.Block) awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: id, Description: "Returns fixed content", Effect: awaken.ReadOnly}, func(context.Context, *awaken.ToolCall, struct{}) (*awaken.ToolResult, error) {
		return &awaken.ToolResult{Status: awaken.ToolSuccess, Content: blocks}, nil
	})
}

func does(id string, do func(ctx context.Context, c *awaken.ToolCall) (string, error)) awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: id, Description: "Does something for a test"}, func(ctx context.Context, c *awaken.ToolCall, _ struct{}) (string, error) { return do(ctx, c) })
}

// question is one that a tool asks.
type question struct{ id, message, schema string }

// asks returns a tool that asks questions, one after the other, and returns the last answer.
func asks(id string, questions ...question) awaken.Tool {
	spec := awaken.ToolSpec{ID: id, Description: "Asks a person", Parameters: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}}}`)} // an answer is merged into the arguments
	return awaken.NewTool(spec, func(_ context.Context, c *awaken.ToolCall, in map[string]any) (string, error) {
		asked := 0
		if c.Resume != nil {
			asked = 1
			for i, q := range questions {
				if c.Resume.Target == q.id {
					asked = i + 1
				}
			}
		}
		if asked == len(questions) {
			return "Elicitation completed: action=accept, content=" + string(c.Resume.Result), nil
		}
		q := questions[asked]
		if text, ok := in["message"].(string); ok {
			q.message = text
		}
		return "", awaken.Suspend(awaken.Ticket{ResumeMode: awaken.PassDecisionToTool, Suspension: awaken.Suspension{ID: q.id, Action: "ask", Message: q.message, ResponseSchema: json.RawMessage(q.schema)}})
	})
}

const (
	nameForm = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	okForm   = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`
	userForm = `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`
	defaults = `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`
	enums    = `{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`
	contact  = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`
)

func tools() []awaken.Tool {
	name := question{"user_name", "What is your name?", nameForm}
	confirm := question{"confirm", "Please confirm", okForm}
	log := func(_ context.Context, c *awaken.ToolCall) (string, error) {
		for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			c.Output(line)
			time.Sleep(50 * time.Millisecond)
		}
		return "logged", nil
	}
	return []awaken.Tool{
		returns("test_simple_text", llm.Text("This is a simple text response for testing.")),
		returns("test_image_content", file(llm.ImageBlock, "image/png", pixel, "")),
		returns("test_audio_content", file(llm.AudioBlock, "audio/wav", silence, "")),
		returns("test_embedded_resource", document("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
		returns("test_multiple_content_types", llm.Text("Multiple content types test:"), file(llm.ImageBlock, "image/png", pixel, ""),
			document("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)),
		does("test_tool_with_logging", log), does("test_logging_tool", log),
		does("test_error_handling", func(context.Context, *awaken.ToolCall) (string, error) {
			//lint:ignore ST1005 the text is that of the suite
			return "", errors.New("This tool intentionally returns an error for testing")
		}),
		does("test_tool_with_progress", func(_ context.Context, c *awaken.ToolCall) (string, error) {
			for _, n := range []float64{0, 50, 100} {
				c.Progress(awaken.Progress{Loaded: &n, Total: new(100.0)})
				time.Sleep(50 * time.Millisecond)
			}
			return "progressed", nil
		}),
		does("test_reconnection", func(context.Context, *awaken.ToolCall) (string, error) { return "reconnected", nil }),
		awaken.NewTool(awaken.ToolSpec{ID: "json_schema_2020_12_tool", Description: "Tool with JSON Schema 2020-12 features", Parameters: json.RawMessage(contact)},
			func(context.Context, *awaken.ToolCall, map[string]any) (string, error) { return "ok", nil }),
		asks("test_elicitation", question{"input", "Who are you?", userForm}),
		asks("test_elicitation_sep1034_defaults", question{"input", "Please review", defaults}),
		asks("test_elicitation_sep1330_enums", question{"input", "Please select", enums}),
		asks("test_streaming_elicitation", name),
		asks("test_input_required_result_elicitation", name),
		asks("test_input_required_result_request_state", confirm),
		asks("test_input_required_result_tampered_state", confirm),
		asks("test_input_required_result_multi_round", question{"step1", "Step 1: What is your name?", nameForm},
			question{"step2", "Step 2: What is your favorite color?", `{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`}),
	}
}

// resources are those of the suite.
type resources struct{}

func (resources) List(context.Context) ([]mcp.Resource, []mcp.Template, error) {
	return []mcp.Resource{
			{URI: "test://static-text", Name: "Static text", Description: "A text", MimeType: "text/plain"},
			{URI: "test://static-binary", Name: "Static binary", Description: "An image", MimeType: "image/png"},
			{URI: "test://watched-resource", Name: "Watched", Description: "A text", MimeType: "text/plain"},
		}, []mcp.Template{{URI: "test://template/{id}/data", Name: "Template", Description: "Data by id", MimeType: "application/json"}},
		nil
}

func (resources) Read(_ context.Context, uri string) (*mcp.Contents, error) {
	rest, ok := strings.CutPrefix(uri, "test://template/")
	id, data := strings.CutSuffix(rest, "/data")
	switch {
	case ok && data:
		text := fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)
		return &mcp.Contents{URI: uri, MimeType: "application/json", Text: &text}, nil
	case uri == "test://static-text" || uri == "test://watched-resource":
		return &mcp.Contents{URI: uri, MimeType: "text/plain", Text: new("This is the content of the static text resource.")}, nil
	case uri == "test://static-binary":
		return &mcp.Contents{URI: uri, MimeType: "image/png", Blob: pixel}, nil
	}
	return nil, awaken.ErrNotFound
}

// prompts are those of the suite.
type prompts struct{}

func (prompts) List(context.Context) ([]mcp.Prompt, error) {
	return []mcp.Prompt{
		{Name: "test_simple_prompt", Description: "A prompt without arguments"},
		{Name: "test_prompt_with_arguments", Description: "A prompt with arguments", Arguments: []mcp.Argument{{Name: "arg1", Description: "first", Required: true}, {Name: "arg2", Description: "second", Required: true}}},
		{Name: "test_prompt_with_embedded_resource", Description: "A prompt with a resource", Arguments: []mcp.Argument{{Name: "resourceUri", Description: "the resource", Required: true}}},
		{Name: "test_prompt_with_image", Description: "A prompt with an image"},
	}, nil
}

func (prompts) Get(_ context.Context, name string, arguments map[string]string) ([]mcp.PromptMessage, error) {
	say := func(content string) mcp.PromptMessage {
		return mcp.PromptMessage{Role: "user", Content: json.RawMessage(content)}
	}
	text := func(s string) mcp.PromptMessage { return say(fmt.Sprintf(`{"type":"text","text":%q}`, s)) }
	switch name {
	case "test_simple_prompt":
		return []mcp.PromptMessage{text("This is a simple prompt for testing.")}, nil
	case "test_prompt_with_arguments":
		return []mcp.PromptMessage{text("Prompt with arguments: arg1='" + arguments["arg1"] + "', arg2='" + arguments["arg2"] + "'")}, nil
	case "test_prompt_with_embedded_resource":
		return []mcp.PromptMessage{say(fmt.Sprintf(`{"type":"resource","resource":{"uri":%q,"mimeType":"text/plain","text":"Embedded resource content for testing."}}`, arguments["resourceUri"])),
			text("Please process the embedded resource above.")}, nil
	case "test_prompt_with_image":
		return []mcp.PromptMessage{say(`{"type":"image","data":"` + pixel + `","mimeType":"image/png"}`), text("Please analyze the image above.")}, nil
	}
	return nil, awaken.ErrNotFound
}
