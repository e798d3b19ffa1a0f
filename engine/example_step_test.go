package engine_test

import (
	"context"
	"fmt"

	"github.com/awaken-go/awaken"
)

// A tool that does its work in steps continues where it was, if it is cut off.
func ExampleConfig_steps() {
	order := awaken.NewTool(awaken.ToolSpec{ID: "order", Description: "Orders an item and tells the customer.", Effect: awaken.Idempotent},
		func(ctx context.Context, call *awaken.ToolCall, in struct {
			Item string `json:"item"`
		}) (string, error) {
			number, err := awaken.Step(ctx, call, "order", awaken.Idempotent, func(_ context.Context, key string) (int, error) {
				fmt.Println("ordering a", in.Item, "with key", key)
				return 42, nil
			})
			if err != nil {
				return "", err
			}
			if _, err := awaken.Step(ctx, call, "mail", awaken.Effectful, func(context.Context, string) (bool, error) {
				fmt.Println("mailing the number", number)
				return true, nil
			}); err != nil {
				return "", err // ErrInDoubt if it may have been sent before a crash
			}
			return fmt.Sprint("order ", number), nil
		})
	res, err := order.Call(context.Background(), &awaken.ToolCall{Key: "run/0/0", Args: []byte(`{"item":"lamp"}`)})
	fmt.Println(res.Plain(), err)
	// Output:
	// ordering a lamp with key run/0/0/order
	// mailing the number 42
	// order 42 <nil>
}
