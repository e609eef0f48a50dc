package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/logqueue"
	"github.com/hooklatch/hooklatch/internal/program/loopback"
	"github.com/hooklatch/hooklatch/internal/program/mcp"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

type mcpFlags struct {
	url, tokenFile, as string
	allow              []string
}

func (c *cli) newMCP() *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the console's data to AI assistants, over the Model Context Protocol",
		Long: `Serve the API of a running console as tools of the Model Context Protocol (MCP), on
standard input and output. An MCP client, such as an AI assistant, starts this command.

The tools are the operations of the console's OpenAPI document. The role of the token
decides what they may see and do. They only read, unless --allow names tools that change
something, such as retry_effect. The operator log records each call of such a tool with
the name of the token.

Unless --url names another console, the command uses the configured console on this
machine. If the console requires a token, give it with --token-file.`,
		Example: "  " + c.Name + " mcp --config hooklatch.yaml\n" +
			"  " + c.Name + " mcp --url https://ops.example.com --token-file token --allow retry_effect,replay_event",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.serveMCP(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", "", "base `URL` of the console (default the address in admin.listen)")
	flags.StringVar(&f.tokenFile, "token-file", "", "`file` with the token to send, such as one of admin.tokens with the role viewer")
	flags.StringSliceVar(&f.allow, "allow", nil, "`tools` that may change something, separated by commas (default none)")
	flags.StringVar(&f.as, "as", "", "operator's `name`, stored in the operator log if the console requires no token (default the operating system's user)")
	return cmd
}

func (c *cli) serveMCP(ctx context.Context, f mcpFlags) error {
	// The protocol uses standard output, and a dropped line would break the protocol.
	logger, err := c.loggerTo(slog.LevelWarn, slices.DeleteFunc(slices.Clone(c.outputs), func(q *logqueue.Queue) bool { return io.Writer(q) == c.Stdout }))
	if err != nil {
		return err
	}
	at, err := c.consoleURL(f.url)
	if err != nil {
		return err
	}
	token, err := readToken(f.tokenFile)
	if err != nil {
		return err
	}
	if !token.IsZero() && at.Scheme == "http" && !loopback.Is(at.Hostname()) {
		fmt.Fprintf(c.Stderr, "%s: the token is sent to %s without encryption; use an https:// URL\n", c.Name, at.Host)
	}
	by := operatorFlags{as: f.as}
	err = mcp.Serve(ctx, mcp.Options{
		URL: at, Token: token, Name: by.operator().Who, Allow: f.allow, Version: c.readBuild().Version, In: c.Stdin, Out: c.Stdout, Logger: logger,
	})
	if wrong, is := errors.AsType[*mcp.UnknownToolError](err); is {
		return misused("--allow: %s", wrong)
	}
	return err
}

// consoleURL returns the URL in --url, or else the URL of the configured admin listener.
func (c *cli) consoleURL(given string) (*url.URL, error) {
	at, err := baseURL(given, "a console", "http://127.0.0.1:8081")
	switch {
	case err != nil:
		return nil, err
	case at != nil && (at.User != nil || at.RawQuery != "" || at.Fragment != ""):
		return nil, misused("--url: it must have no user, query or fragment; give a token with --token-file")
	case at != nil:
		return at, nil
	}
	cfg, err := c.loadConfig()
	if err != nil {
		if _, configured := errors.AsType[config.Problems](err); !configured {
			return nil, fmt.Errorf("%w, or name the console with --url", err)
		}
		return nil, err
	}
	return adminURL(cfg), nil
}

// maxToken limits the size of a token's file, in bytes: the file must be smaller. A header has no
// room for more.
const maxToken = 8 << 10

// readToken reads a token from a file. It returns an empty value if path is empty.
func readToken(path string) (secret.Value, error) {
	if path == "" {
		return secret.Value{}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return secret.Value{}, fmt.Errorf("--token-file: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxToken))
	if err != nil {
		return secret.Value{}, fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || len(text) == maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return secret.Value{}, fmt.Errorf("--token-file %s: it must contain one token, and nothing else", path)
	}
	return secret.New(token), nil
}
