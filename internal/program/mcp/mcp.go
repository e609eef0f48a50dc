// Package mcp serves the API of a console as tools of the Model Context Protocol: all reads, and
// the changes that an operator allows. The tools are derived from the console's OpenAPI document,
// and the console decides what the token may see and do.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// maxMessage is the maximum size of a client's message, in bytes. The console accepts bodies of at
// most 64 KiB.
const maxMessage = 1 << 20

// maxError is the maximum size of an error, in bytes. An error may repeat an argument of any size.
const maxError = 1 << 10

// Options configure Serve.
type Options struct {
	// URL is the address of the console, such as https://ops.example.com. Required.
	URL *url.URL
	// Token is sent with every request. A console on this machine may require no token.
	Token secret.Value
	// Name is the operator's name in the operator log if the console requires no token.
	Name string
	// Allow names the tools that may be served although they change something.
	Allow []string
	// Version is the program version.
	Version string
	// In and Out are the streams of the client. Required.
	In  io.Reader
	Out io.Writer
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
}

// UnknownToolError is returned if Options.Allow names an unknown tool, or a tool that only reads.
type UnknownToolError struct {
	Name    string
	Allowed []string // all names that Options.Allow may contain
}

// Error implements error.
func (e *UnknownToolError) Error() string {
	return fmt.Sprintf("%q is not a tool that changes something; allowed: %s", cutName(e.Name), strings.Join(e.Allowed, ", "))
}

// server serves the tools to one client.
type server struct {
	client *client
	sdk    *sdk.Server
}

// Serve reads the console's document and serves its tools to the client of In and Out, until the
// client closes In or ctx is done. It writes only protocol messages to Out. Errors:
// *UnknownToolError and others.
func Serve(ctx context.Context, opts Options) error {
	if opts.URL == nil || opts.In == nil || opts.Out == nil {
		return errors.New("mcp options: URL, In and Out are required")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{client: newClient(opts)}
	defer s.client.close()
	tools, err := s.tools(ctx, opts.Allow)
	if err != nil {
		return err
	}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "hooklatch", Title: "Hooklatch", Version: opts.Version}, &sdk.ServerOptions{
		Instructions: instructions(tools), Logger: opts.Logger,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // the tools do not change while the server runs
	})
	for _, t := range tools {
		s.sdk.AddTool(t.described(), func(asked context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			asked, cancel := context.WithTimeout(asked, callTimeout)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)() // the SDK itself does not cancel running calls
			return s.answer(asked, t, r), nil
		})
	}
	session, err := s.sdk.Connect(ctx, &sdk.IOTransport{Reader: io.NopCloser(opts.In), Writer: unclosed{opts.Out}, MaxLineLength: maxMessage}, nil)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = session.Close() })() // Wait returns the error
	if err := session.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("read the client's messages: %w", err)
	}
	return nil
}

// tools returns the tools to serve: all tools that only read, and the tools in allow.
func (s *server) tools(ctx context.Context, allow []string) (map[string]tool, error) {
	d, err := s.client.document(ctx)
	if err != nil {
		return nil, err
	}
	tools, err := toolsOf(d)
	if err != nil {
		return nil, fmt.Errorf("the document of the console: %w", err)
	}
	all := changing(tools)
	for _, name := range allow {
		if !slices.Contains(all, name) {
			return nil, &UnknownToolError{name, all}
		}
	}
	maps.DeleteFunc(tools, func(name string, t tool) bool { return !t.reads() && !slices.Contains(allow, name) })
	return tools, nil
}

// answer returns a call's result. An error is a result too: the model can read it and try again.
func (s *server) answer(ctx context.Context, t tool, r *sdk.CallToolRequest) *sdk.CallToolResult {
	done, err := s.call(ctx, t, r)
	if err != nil {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: visible(safetext.Excerpt(err.Error(), maxError))}}}
	}
	return done
}

func (s *server) call(ctx context.Context, t tool, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	c, err := t.call(r.Params.Arguments)
	if err != nil {
		return nil, err
	}
	response, err := s.client.ask(ctx, c.target, c.body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	done, err := t.result(response, c)
	if err != nil && ctx.Err() != nil {
		return nil, s.client.unanswered(ctx.Err())
	}
	return done, err
}

// unclosed is a writer whose Close does nothing, because its owner keeps it open.
type unclosed struct{ io.Writer }

// Close implements io.Closer.
func (unclosed) Close() error { return nil }
