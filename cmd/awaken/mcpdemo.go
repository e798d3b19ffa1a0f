package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken/cmd/awaken/internal/demo"
)

// mcpDemoCommand is an MCP server to try things out with. MCP_SERVER_CMD="awaken mcp-demo" gives its tools to agents.
func mcpDemoCommand(con *console) *cobra.Command {
	return &cobra.Command{Use: "mcp-demo", Short: "Serve demo tools to an MCP client", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			sig := listen()
			defer sig.stop()
			sig.during(cmd.Context(), func(ctx context.Context) {
				err = demo.ServeMCP(ctx, version(), io.NopCloser(con.in), open{con.out})
			})
			return err
		}}
}

// open is a writer that is not closed.
type open struct{ io.Writer }

func (open) Close() error { return nil }
