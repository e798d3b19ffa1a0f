package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"
)

const settleHelp = `Settle whether a call in doubt took effect. A call is in doubt if its process was lost after
the call had begun, and its tool could not find out the outcome. Refusing to repeat the call
does not end the doubt; only a settlement does.

RUN is the ID of the run, or of a thread, whose latest run is used, and CALL the ID of the call.
If the run waits for a decision on the call, it continues. If the run has ended, the settlement is
stored in the call's record, and the thread's next run tells its model. A settlement cannot be changed.

The file of --result has the result as JSON, or else as text.

Exit status:
  0  the settlement was accepted, now or before
  1  it was refused: the call is not in doubt, or was settled differently
  2  invalid command line`

func settleCommand(con *console) *cobra.Command {
	f := &settleFlags{con: con}
	cmd := &cobra.Command{Use: "settle RUN CALL", Short: "Settle whether a call in doubt took effect", Long: settleHelp, Args: cobra.ExactArgs(2),
		Example: "  awaken settle 019a2b6e-6f7e-7c1d-a6a5-5d3a3a8f2f60 call_1 --made --result receipt.json"}
	fl := cmd.Flags()
	fl.BoolVar(&f.made, "made", false, "the call took effect")
	fl.BoolVar(&f.notMade, "not-made", false, "the call did not take effect")
	fl.StringVar(&f.result, "result", "", "`file` with the result of the call, with --made")
	fl.StringVar(&f.reason, "reason", "", "evidence for the settlement (shown to the model)")
	f.server.add(fl)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withStatus(f.run(cmd.Context(), args[0], args[1]))
	}
	return cmd
}

// settleFlags are the flags of awaken settle.
type settleFlags struct {
	con            *console
	made, notMade  bool
	result, reason string
	server         serverFlags
}

// body returns the decision.
func (f *settleFlags) body(call string) (map[string]any, error) {
	switch {
	case f.made == f.notMade:
		return nil, usageError("want one of --made and --not-made")
	case f.notMade && f.result != "":
		return nil, usageError("--result needs --made")
	}
	out := map[string]any{"tool_call_id": call, "outcome": "not_made"}
	if f.made {
		out["outcome"] = "made"
	}
	if f.reason != "" {
		out["reason"] = f.reason
	}
	if f.result != "" {
		data, err := os.ReadFile(f.result)
		if err != nil {
			return nil, configError("--result: %v", err)
		}
		if out["payload"] = json.RawMessage(data); !json.Valid(data) {
			out["payload"] = string(data)
		}
	}
	return out, nil
}

// run settles a call.
func (f *settleFlags) run(ctx context.Context, id, call string) error {
	body, err := f.body(call)
	if err != nil {
		return err
	}
	c, run, err := f.server.run(ctx, id)
	if err != nil {
		return err
	}
	if _, err := c.call(ctx, "POST", "/v1/runs/"+url.PathEscape(run)+"/decision", body, nil); err != nil {
		return err
	}
	_, err = fmt.Fprintf(f.con.out, "call %s of run %s is settled: %s\n", cell(call), cell(run), body["outcome"])
	return written(err)
}
