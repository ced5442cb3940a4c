package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/pemmican-dev/pemmican/internal/cli"
	"github.com/pemmican-dev/pemmican/mcpserver"
	"github.com/pemmican-dev/pemmican/session"
)

func mcpCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent that sees to its own context",
		Long: prose(`Serves MCP (Model Context Protocol) on the standard input and output, for the agent that starts it: how full its
context is and of what, whether a transcript is sound, facts to keep, and a compaction where its session is live.

The session is the one of the working folder, unless a call names another. No file is written, and nothing leaves the
machine. With --listen, other users of the machine reach it too: where PEMMICAN_MCP_TOKEN is set, a client must bear
that token.`),
		Example: `claude mcp add pemmican -- pemmican mcp
pemmican mcp --listen 127.0.0.1:8745`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			serves.Store(true)
			loader := settingsFrom("")
			settings := func() session.Settings {
				s, notices := loader.Load()
				for _, n := range notices {
					slog.Warn(n.Text)
				}
				return s
			}
			server := mcpserver.New(mcpserver.Config{
				Version: version(), Settings: settings, Language: settings().Language, Failed: func(err error) { slog.Error(err.Error()) },
			})
			if listen == "" {
				return serveStdio(cmd, server)
			}
			return serveHTTP(cmd, server, listen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "serve by streamable HTTP at this address of the machine itself, as 127.0.0.1:8745")
	return cmd
}

// serveStdio serves until the standard input ends, or a signal comes.
func serveStdio(cmd *cobra.Command, server *mcp.Server) error {
	err := server.Run(cmd.Context(), &mcp.StdioTransport{})
	if errors.Is(err, cmd.Context().Err()) { // a signal is how it ends
		return nil
	}
	return cli.About("standard input", err)
}

// serveHTTP serves until a signal comes. Calls that run then have a moment to end.
func serveHTTP(cmd *cobra.Command, server *mcp.Server, address string) error {
	const moment = 3 * time.Second
	if err := ownAddress(address); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", address)
	if err != nil {
		why := err
		if op, ok := errors.AsType[*net.OpError](err); ok {
			why = op.Err
		}
		return cli.Unusable("", "give another port, or 0 for any that is free", "--listen %s: %s", address, why)
	}
	if err := cli.Printf(cmd.ErrOrStderr(), "pemmican: serving MCP at http://%s/; ^C ends it", listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	h := &http.Server{Handler: mcpserver.Handler(server, os.Getenv("PEMMICAN_MCP_TOKEN")), ReadHeaderTimeout: 10 * time.Second}
	ended := context.AfterFunc(cmd.Context(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), moment)
		defer cancel()
		for s := range server.Sessions() { // streams that wait for news would wait on
			_ = s.Close()
		}
		if h.Shutdown(ctx) != nil {
			_ = h.Close()
		}
	})
	defer ended()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ownAddress demands an address that only this machine reaches: whoever reaches it reads what the person may.
func ownAddress(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return cli.Unusable("", "give it as 127.0.0.1:8745", "--listen %s: %s", address, "it is no address with a port")
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return cli.Unusable("", "give 127.0.0.1 or [::1] and reach it through a tunnel, as of ssh -L",
			"--listen %s: other machines could reach it, and it is not made for that", address)
	}
	return nil
}
