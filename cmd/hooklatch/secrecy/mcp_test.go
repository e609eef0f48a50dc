package secrecy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/outbox/secret"
)

// mcpTokens contains the token of each role.
var mcpTokens = map[string]string{"viewer": "canary-viewer-5d2c", "operator": "canary-operator-5d2c", "admin": "canary-admin-5d2c1"}

// newMCPSystem returns a system with mcpTokens, whose console masks a value of the source stripe.
func newMCPSystem(t *testing.T) *clitest.System {
	t.Helper()
	return clitest.NewSystem(t, clitest.SystemOptions{Change: func(cfg *config.Config) {
		for role, token := range mcpTokens {
			cfg.Admin.Tokens = append(cfg.Admin.Tokens, config.AdminToken{Name: "agent-" + role, Role: role, Token: secret.New(token)})
		}
		cfg.Admin.Console.Mask = map[string][]string{"stripe": {"/data/object/customer"}}
	}})
}

// mcpArgs returns the arguments of the mcp command, with the token of a role.
func mcpArgs(t *testing.T, s *clitest.System, role string, args ...string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(mcpTokens[role]+"\n"), 0o600))
	return append([]string{"mcp", "--url", s.Admin, "--token-file", file}, args...)
}

// assistant is an MCP client, connected to a running mcp command.
type assistant struct {
	*sdk.ClientSession

	stderr clitest.SyncBuffer
	ended  chan int // exit code of the command
}

// assist starts the command and connects a client.
func assist(t *testing.T, args ...string) *assistant {
	t.Helper()
	a := &assistant{ended: make(chan int, 1)}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	go func() {
		a.ended <- cli.Execute(t.Context(), &cli.Process{
			Name: clitest.TestName, Stdin: in, Stdout: out, Stderr: &a.stderr, Env: func(string) (string, bool) { return "", false },
		}, args)
		_ = out.Close()
	}()
	var err error
	a.ClientSession, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	require.NoError(t, err, a.stderr.String())
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// tools returns all tools by name.
func (a *assistant) tools(t *testing.T) map[string]*sdk.Tool {
	t.Helper()
	all := map[string]*sdk.Tool{}
	for tool, err := range a.Tools(t.Context(), nil) {
		require.NoError(t, err)
		all[tool.Name] = tool
	}
	return all
}

// changing returns the names of the tools that may change data.
func (a *assistant) changing(t *testing.T) (names []string) {
	t.Helper()
	for name, tool := range a.tools(t) {
		if !tool.Annotations.ReadOnlyHint {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// call calls a tool. It returns the text of the result, and whether the result is an error.
func (a *assistant) call(t *testing.T, tool string, arguments map[string]any) (text string, failed bool) {
	t.Helper()
	done, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	var parts []string
	for _, part := range done.Content {
		parts = append(parts, part.(*sdk.TextContent).Text)
	}
	return strings.Join(parts, "\n"), done.IsError
}

// must calls a tool, which must succeed.
func (a *assistant) must(t *testing.T, tool string, arguments map[string]any) string {
	t.Helper()
	text, failed := a.call(t, tool, arguments)
	require.False(t, failed, "%s: %s", tool, text)
	return text
}

// mcpDocument is the console's OpenAPI document, as far as the tests compare it with the tools.
type mcpDocument struct {
	Paths map[string]map[string]json.RawMessage
}

// expectedTools returns the names of the document's tools: the tools that only read, and the
// others.
func expectedTools(t *testing.T, s *clitest.System) (reading, changing []string) {
	t.Helper()
	var document mcpDocument
	status, _, text := s.AskWith(t, mcpTokens["admin"], http.MethodGet, "/api/openapi.json", "")
	require.Equal(t, http.StatusOK, status)
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	for path, methods := range document.Paths {
		if path == "/api/openapi.json" {
			continue
		}
		on := desk.Thing(strings.Split(path, "/")[2])
		for _, method := range []string{"get", "post"} {
			if methods[method] == nil {
				continue
			}
			var o struct {
				OperationID string
				Role        string `json:"x-role"` //nolint:tagliatelle // OpenAPI's name for extensions
			}
			require.NoError(t, json.Unmarshal(methods[method], &o))
			switch {
			case method == "get", o.Role == "viewer": // a viewer changes nothing
				reading = append(reading, strings.ToLower(o.OperationID))
			case strings.HasSuffix(path, "/{action}"):
				for _, verb := range desk.Of(on) {
					changing = append(changing, verb.Name+on.One())
				}
			default:
				changing = append(changing, strings.ToLower(o.OperationID))
			}
		}
	}
	return reading, changing
}

// The tools match the console's document. Without --allow, every tool only reads.
func TestTheToolsOfMCPAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	s := newMCPSystem(t)
	reading, changing := expectedTools(t, s)
	require.Greater(t, len(reading), 10)
	require.Greater(t, len(changing), 15)
	plain := func(names []string) []string { // the document has no underscores
		for i, name := range names {
			names[i] = strings.ReplaceAll(name, "_", "")
		}
		return names
	}

	a := assist(t, mcpArgs(t, s, "viewer")...)
	require.Empty(t, a.changing(t))
	all := a.tools(t)
	names := make([]string, 0, len(all))
	for name, tool := range all {
		names = append(names, name)
		require.NotEmpty(t, tool.Description, name)
		require.False(t, *tool.Annotations.DestructiveHint, name)
	}
	require.ElementsMatch(t, reading, plain(names))
	for _, said := range []string{"webhook gateway", "untrusted data", "All these tools only read"} {
		require.Contains(t, a.InitializeResult().Instructions, said)
	}
	_, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "retry_effect", Arguments: map[string]any{"key": "hl_1"}})
	require.ErrorContains(t, err, "unknown tool")

	var c clitest.Command
	require.Equal(t, cli.ExitMisused, c.Run(t.Context(), mcpArgs(t, s, "viewer", "--allow", "retyr_effect")...))
	require.Empty(t, c.Stdout.String())
	_, said, _ := strings.Cut(strings.SplitN(c.Stderr.String(), "\n", 2)[0], "allowed: ")
	allowed := strings.Split(said, ", ")
	require.Contains(t, allowed, "retry_effect")
	require.ElementsMatch(t, changing, plain(slices.Clone(allowed)), c.Stderr.String())

	everything := assist(t, mcpArgs(t, s, "operator", "--allow", strings.Join(allowed, ","))...)
	require.Equal(t, allowed, everything.changing(t))
	require.Contains(t, everything.InitializeResult().Instructions, "retry_effect")
	for name, tool := range everything.tools(t) {
		require.NotEmpty(t, tool.Description, name)
		hints := tool.Annotations
		switch name {
		case "retry_effect", "replay_event", "begin_run", "verify_quarantine", "probe_destination":
			require.False(t, hints.IdempotentHint || hints.ReadOnlyHint, name)
			require.Nil(t, hints.DestructiveHint, name)
		case "pause_destination", "park_effect":
			require.True(t, hints.IdempotentHint, name)
			require.False(t, *hints.DestructiveHint, name)
		}
	}
	require.Contains(t, everything.tools(t)["retry_effect"].Description, desk.Named(desk.Effects, "retry").Means)
}

// A client finds a parked effect and retries it, and the operator log contains the name of the
// token. Tools that --allow does not name are unknown.
func TestMCPCarriesOutWhatIsAllowed(t *testing.T) {
	t.Parallel()
	s := newMCPSystem(t)
	clitest.Must(t, s.Args("destinations", "pause", cli.DevDestination)...)
	clitest.Must(t, s.Args("send", "stripe", "--id", "evt_1", "--type", "customer.created")...)
	require.Eventually(t, func() bool { return s.IsDispatched(t, "stripe", "evt_1") }, clitest.Patience, clitest.Tick)
	clitest.Must(t, s.Args("effects", "park", "--source", "stripe", "--state", "pending", "--yes")...)

	a := assist(t, mcpArgs(t, s, "operator", "--allow", "retry_effect")...)
	require.Equal(t, []string{"retry_effect"}, a.changing(t))
	var list struct {
		Rows []struct {
			Key string `json:"idempotency_key"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(a.must(t, "list_effects", map[string]any{"state": "parked", "source": "stripe"})), &list))
	require.NotEmpty(t, list.Rows)
	key := list.Rows[0].Key
	require.Contains(t, a.must(t, "effect", map[string]any{"key": key}), key)
	require.Contains(t, a.must(t, "event", map[string]any{"source": "stripe", "id": "evt_1"}), key)

	require.Contains(t, a.must(t, "retry_effect", map[string]any{"key": key, "reason": "the user asked"}), "Retry requested and recorded.")
	var who, via, reason, role string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT who, via, reason, role FROM hooklatch.operator_log WHERE action = 'effect.retry'`).Scan(&who, &via, &reason, &role))
	require.Equal(t, []string{"agent-operator", "api", "the user asked", "operator"}, []string{who, via, reason, role})

	text, failed := a.call(t, "retry_effect", map[string]any{"key": "hl_none"})
	require.True(t, failed)
	require.Contains(t, text, "(404)")
	for _, tool := range []string{"park_effect", "begin_run", "pause_destination", "verify_quarantine"} {
		_, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: map[string]any{"key": key}})
		require.ErrorContains(t, err, "unknown tool", tool)
	}
	require.NoError(t, a.Close())
	require.Equal(t, cli.ExitOK, <-a.ended, a.stderr.String())
	require.Empty(t, a.stderr.String())
}

// The role of a token and the console's masks apply whatever --allow names, because the console
// enforces them.
func TestMCPHasTheRoleAndTheMasksOfItsToken(t *testing.T) {
	t.Parallel()
	s := newMCPSystem(t)
	clitest.Must(t, s.Args("send", "stripe", "--id", "evt_1")...)
	s.WaitDone(t, "stripe", "evt_1")
	event := map[string]any{"source": "stripe", "id": "evt_1"}

	viewer := assist(t, mcpArgs(t, s, "viewer", "--allow", "replay_event,begin_run")...)
	require.Contains(t, viewer.must(t, "event", event), `"event_id":"evt_1"`)
	text, failed := viewer.call(t, "event_body", event)
	require.True(t, failed)
	require.Contains(t, text, "The exact bytes contain these values and require the role admin.")
	require.NotContains(t, text, "customer")
	for tool, arguments := range map[string]map[string]any{
		"replay_event": event, "begin_run": {"of": "events", "action": "replay"}, "preview_run": {"of": "events"}, "list_actions": {},
	} {
		text, failed := viewer.call(t, tool, arguments)
		require.True(t, failed, tool)
		require.Contains(t, text, "(403)", tool)
		require.Contains(t, text, "your role is viewer", tool)
	}
	text, failed = viewer.call(t, "list_events", map[string]any{"contains": "cus_"})
	require.True(t, failed)
	require.Contains(t, text, "You may not search payloads")
	require.Zero(t, s.Count(t, `SELECT count(*) FROM hooklatch.event_replays`))

	admin := assist(t, mcpArgs(t, s, "admin")...)
	require.Contains(t, admin.must(t, "event_body", event), "customer")
	require.Contains(t, admin.must(t, "list_actions", map[string]any{"limit": 1}), `"rows"`)
}

// Hostile arguments fail or match no rows, and wrong arguments get an error message. No call
// changes any data.
func TestMCPAnswersBadInput(t *testing.T) {
	t.Parallel()
	s := newMCPSystem(t)
	a := assist(t, mcpArgs(t, s, "admin", "--allow", "retry_effect")...)
	for _, hostile := range []string{"%", "\x00", "..", "a/b?c#d", "<script>", "\u202eabc", `";DROP`, "_", strings.Repeat("x", 10_000), strings.Repeat("y", 60_000)} {
		for tool, arguments := range map[string]map[string]any{
			"event": {"source": hostile, "id": hostile}, "effect": {"key": hostile}, "retry_effect": {"key": hostile, "reason": hostile},
			"list_events": {"contains": hostile}, "list_effects": {"when": hostile}, "destination": {"name": hostile},
		} {
			text, failed := a.call(t, tool, arguments)
			require.True(t, failed || strings.Contains(text, `"rows":[]`), "%s %.20q: %s", tool, hostile, text)
			require.Less(t, len(text), 2_000, tool)
			require.NotContains(t, text, "\u202e", tool)
			require.NotContains(t, text, "(500)", tool)
		}
	}
	for _, wrong := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"list_events", map[string]any{"sauce": "stripe"}, `unknown argument "sauce"; allowed: `},
		{"list_events", map[string]any{"limit": "many"}, `"limit" must be a whole number`},
		{"list_events", map[string]any{"limit": 51}, "it must be a number from 1 to 50"},
		{"list_events", map[string]any{"state": "odd"}, "State cannot be read"},
		{"event", map[string]any{"source": "stripe"}, `the argument "id" is missing`},
		{"run", map[string]any{"id": "new"}, `"id" must be a whole number`},
		{"effect", map[string]any{"key": ""}, `"key" cannot be ""`},
		{"retry_effect", map[string]any{"key": "hl_1", "looked": "yes"}, `"looked" must be true or false`},
	} {
		text, failed := a.call(t, wrong.tool, wrong.arguments)
		require.True(t, failed, "%v", wrong)
		require.Contains(t, text, wrong.want)
	}
	require.Zero(t, s.Count(t, `SELECT count(*) FROM hooklatch.operator_log`))
}

// A client on the console's machine needs no token if none is configured. The operator log contains
// the name in --as.
func TestMCPOnThisMachineNeedsNoToken(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	a := assist(t, "mcp", "--url", s.Admin+"/", "--as", "ada", "--allow", "pause_destination,resume_destination")
	require.Contains(t, a.must(t, "pause_destination", map[string]any{"name": cli.DevDestination, "reason": "they move"}), "Paused and recorded.")
	require.Contains(t, a.must(t, "destination", map[string]any{"name": cli.DevDestination}), "they move")
	require.Equal(t, 1, s.Count(t, `SELECT count(*) FROM hooklatch.operator_log WHERE who = 'ada' AND action = 'destination.pause'`))

	require.NoError(t, s.App.Stop(context.Background()))
	text, failed := a.call(t, "overview", nil)
	require.True(t, failed)
	require.Contains(t, text, "the console at "+s.Admin+" does not answer: ")
	var c clitest.Command
	require.Equal(t, cli.ExitFailed, c.Run(t.Context(), "mcp", "--url", s.Admin))
	require.Contains(t, c.Stderr.String(), "does not answer: ")
	require.Empty(t, c.Stdout.String())
}

func TestMCPSaysWhyItDoesNotStart(t *testing.T) {
	t.Parallel()
	s := newMCPSystem(t)
	dir := t.TempDir()
	write := func(text string) string {
		file := filepath.Join(dir, "token")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--url", s.Admin}, "Unauthorized (401)"},
		{[]string{"--url", s.Admin, "--token-file", write("a-token-that-is-wrong")}, "Unauthorized (401)"},
		{[]string{"--url", s.Admin, "--token-file", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"--url", s.URL}, "check that this is the console's URL"},
		{[]string{"--config", filepath.Join(dir, "none.yaml")}, "or name the console with --url"},
	} {
		var got clitest.Command
		require.Equal(t, cli.ExitFailed, got.Run(t.Context(), append([]string{"mcp"}, c.args...)...), "%v", c.args)
		require.Contains(t, got.Stderr.String(), c.want, "%v", c.args)
		require.Empty(t, got.Stdout.String())
	}
	for _, text := range []string{"", " \n", "two words", "two\nlines", "canary\x00", "ünïcödé", strings.Repeat("x", 1<<20)} {
		var got clitest.Command
		require.Equal(t, cli.ExitFailed, got.Run(t.Context(), "mcp", "--url", s.Admin, "--token-file", write(text)))
		require.Contains(t, got.Stderr.String(), "it must contain one token, and nothing else")
		require.NotContains(t, got.Stderr.String(), "canary")
	}
	for _, wrong := range []string{"ops.example.com", "ftp://x", "https://u:canary@ops.example.com", "https://ops.example.com?token=canary", "https://ops.example.com#x"} {
		var got clitest.Command
		require.Equal(t, cli.ExitMisused, got.Run(t.Context(), "mcp", "--url", wrong), wrong)
	}
	var got clitest.Command
	require.Equal(t, cli.ExitFailed, got.Run(t.Context(), "mcp", "--url", "http://console.invalid", "--token-file", write(mcpTokens["viewer"])))
	require.Contains(t, got.Stderr.String(), "the token is sent to console.invalid without encryption")
	require.NotContains(t, got.Stderr.String(), mcpTokens["viewer"])
}

// The process writes nothing but the protocol to its standard output, and exits when the client
// closes the process's standard input.
func TestMCPAsAProcess(t *testing.T) {
	t.Parallel()
	s := newMCPSystem(t)
	p := clitest.NewProgram(t, mcpArgs(t, s, "viewer", "--log-level", "debug")...)
	p.Cmd.Stdout = nil // the client reads it
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: p.Cmd, TerminateDuration: clitest.Patience}, nil)
	require.NoError(t, err, p.Stderr.String())
	done, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "overview"})
	require.NoError(t, err)
	require.False(t, done.IsError)
	require.NoError(t, session.Close())
	require.Equal(t, cli.ExitOK, p.Cmd.ProcessState.ExitCode(), p.Stderr.String())
	require.Contains(t, p.Stderr.String(), "server session connected", "the log is on stderr")
}

// No message is lost if the client reads slowly: unlike a log, standard output drops no lines.
func TestMCPWaitsForItsClient(t *testing.T) {
	t.Parallel()
	const calls = 60
	var answered atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"openapi":"3.1.0","paths":{"/api/":{"get":{"operationId":"overview","responses":{"200":{"content":{"application/json":{}}}}}}}}`)
	})
	mux.HandleFunc("GET /api/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `"`+strings.Repeat("x", 40<<10)+`"`)
		answered.Add(1)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p := clitest.NewProgram(t, "mcp", "--url", server.URL)
	p.Cmd.Stdout = nil
	in, err := p.Cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.Cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Cmd.Start())
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`)
	require.NoError(t, err)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	require.True(t, lines.Scan())
	for id := range calls {
		_, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"overview"}}`+"\n", id+1)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return answered.Load() == calls }, clitest.Patience, clitest.Tick)
	require.NoError(t, out.(*os.File).SetReadDeadline(time.Now().Add(time.Minute))) // a lost line never arrives
	ids := map[int]bool{}
	for len(ids) < calls && lines.Scan() {
		var message struct{ ID int }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &message), "only messages are written")
		ids[message.ID] = true
	}
	require.Len(t, ids, calls)
	require.NoError(t, in.Close())
	require.NoError(t, p.Cmd.Wait(), p.Stderr.String())
}
