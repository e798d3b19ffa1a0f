package llmtest_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

func Example() {
	turns, err := llmtest.ParseScript(strings.NewReader(`
		# The model asks for a tool, then speaks about what it returned.
		{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}
		{"text": ["It is ", "21 degrees."], "expect": {"last": "21"}}
	`))
	if err != nil {
		fmt.Println(err)
		return
	}
	model := llmtest.NewScript(turns...)

	messages := llm.NewMessages(llm.UserText("How warm is it in Paris?"))
	for {
		reply, err := llm.Generate(context.Background(), model, &llm.Request{Messages: messages})
		if err != nil {
			fmt.Println(err)
			return
		}
		if reply.Finish == llm.EndTurn {
			fmt.Println(reply.Message.Text())
			return
		}
		messages = messages.Append(reply.Message)
		for _, call := range reply.Message.ToolCalls {
			fmt.Printf("%s calls %s with %s\n", call.ID, call.Name, call.Arguments)
			result := llm.NewText(llm.ToolRole, `{"celsius": 21}`)
			result.ToolCallID = call.ID
			messages = messages.Append(result)
		}
	}
	// Output:
	// call_get_weather_1 calls get_weather with {"city": "Paris"}
	// It is 21 degrees.
}

func ExampleDemo() {
	reply, err := llm.Generate(context.Background(), llmtest.Demo(), &llm.Request{
		Messages: llm.NewMessages(llm.UserText("What is Go?")),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Message.Text())
	// Output: Scripted response to: What is Go?
}
