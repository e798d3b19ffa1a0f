package skills

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
)

// The limits of a call of a script.
const (
	maxScriptArgs     = 64
	maxScriptArgBytes = 8 << 10
	maxScriptAllBytes = 64 << 10
)

// scriptTool runs a script of a skill. It is effectful: a script that was interrupted is not run
// again without the model's or a person's knowledge.
func (o *offer) scriptTool() awaken.Tool {
	type in struct {
		Skill  string   `json:"skill" jsonschema:"name of the skill"`
		Script string   `json:"script" jsonschema:"path of the script below the skill's folder, such as scripts/report.py"`
		Args   []string `json:"args,omitempty" jsonschema:"arguments of the script"`
	}
	return awaken.NewTool(awaken.ToolSpec{
		ID:          toolScript,
		Egress:      awaken.Egress{None: !o.runner.unconfined},
		Category:    "skills",
		Timeout:     o.runner.limits.Time + 10*time.Second,
		Description: "Runs a script that belongs to a skill, in a copy of the skill's folder, without network, and returns its output.",
	},
		func(ctx context.Context, call *awaken.ToolCall, in in) (*awaken.ToolResult, error) {
			s, name, refused := o.file(call, in.Skill, in.Script)
			if refused != nil {
				return refused, nil
			}
			if !strings.HasPrefix(name, "scripts/") {
				return awaken.ErrorResult("unsupported_path", "scripts are below scripts/"), nil
			}
			if err := checkArgs(in.Args); err != nil {
				return awaken.ErrorResult("invalid_arguments", err.Error()), nil
			}
			out, err := o.runner.run(ctx, s, name, in.Args, call.Key)
			if refused, ok := err.(*refusal); ok {
				return awaken.ErrorResult(refused.code, refused.message), nil
			}
			if err != nil {
				return nil, err
			}
			return reply(out, "")
		})
}

func checkArgs(args []string) error {
	if len(args) > maxScriptArgs {
		return fmt.Errorf("args has %d entries, want at most %d", len(args), maxScriptArgs)
	}
	all := 0
	for i, a := range args {
		if all += len(a); len(a) > maxScriptArgBytes || all > maxScriptAllBytes {
			return fmt.Errorf("args[%d] has %d bytes, want at most %d, and %d in all", i, len(a), maxScriptArgBytes, maxScriptAllBytes)
		}
		if strings.ContainsRune(a, 0) {
			return fmt.Errorf("args[%d] has a NUL character", i)
		}
	}
	return nil
}
