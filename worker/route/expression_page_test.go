package route

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// expressionsPage is the page that these tests compare with the behaviour of expressions.
const expressionsPage = "../../docs/expressions.md"

// pageExample is an expression on the page, with the result on the page: JSON, "error: ..." if the
// evaluation fails, or "refused: ..." if the compilation fails.
type pageExample struct {
	expression, yields string
	event              *inbox.Event
	current            any
}

// pageEvent is a json block on the page. A block without an event uses event and current of the
// first block.
type pageEvent struct {
	Event   *eventView        `json:"event"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	Current any               `json:"current"`
}

var (
	pageBlock = regexp.MustCompile("(?s)```(json|http|cel)\n(.*?)```")
	pageRow   = regexp.MustCompile("(?m)^\\| (`[^|]*) \\| [^|]* \\| `([^|]*)` \\| `([^|]*)` \\|$")
	pageCall  = regexp.MustCompile("`(?:[a-z]\\.)?([A-Za-z0-9_.]+)\\(")
)

func readExpressionsPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(expressionsPage)
	require.NoError(t, err)
	return string(text)
}

// pageExamples returns the examples in the cel blocks, which use the preceding event block, and in
// the function tables, which use the first event block.
func pageExamples(t *testing.T, page string) []pageExample {
	t.Helper()
	var examples []pageExample
	var first, now pageExample
	for _, block := range pageBlock.FindAllStringSubmatch(page, -1) {
		switch kind, text := block[1], block[2]; kind {
		case "json":
			now = first.with(t, text)
			if first.event == nil {
				first = now
			}
		case "http":
			now = first.delivered(t, text)
		default:
			for line := range strings.Lines(text) {
				at := strings.LastIndex(line, " // ")
				require.Positive(t, at, "no // in %q", line)
				now.expression, now.yields = strings.TrimSpace(line[:at]), strings.TrimSpace(line[at+4:])
				examples = append(examples, now)
			}
		}
	}
	for _, row := range pageRow.FindAllStringSubmatch(page, -1) {
		first.expression, first.yields = row[2], row[3]
		examples = append(examples, first)
	}
	return examples
}

func (e pageExample) with(t *testing.T, block string) pageExample {
	t.Helper()
	var given pageEvent
	decoder := json.NewDecoder(strings.NewReader(block))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&given))
	if given.Event != nil {
		v := given.Event
		e.event = &inbox.Event{EventRef: identity.EventRef{Source: identity.Source(v.Source), EventID: identity.EventID(v.ID)}, Type: v.Type, Provider: v.Provider,
			OccurredAt: v.OccurredAt, ReceivedAt: v.ReceivedAt}
		e.current = given.Current
	}
	event := *e.event
	event.ContentType, event.Body, event.Headers = jsonContentType, given.Body, map[string][]string{}
	for name, value := range given.Headers {
		event.Headers[name] = []string{value}
	}
	e.event = &event
	return e
}

func (e pageExample) delivered(t *testing.T, block string) pageExample {
	t.Helper()
	header, body, found := strings.Cut(strings.TrimSuffix(block, "\n"), "\n\n")
	require.True(t, found, block)
	event := *e.event
	event.Headers = map[string][]string{}
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		event.Headers[name] = []string{value}
	}
	event.ContentType, event.Body = http.Header(event.Headers).Get("Content-Type"), []byte(body)
	e.event = &event
	return e
}

func TestThePageOfExpressionsSaysWhatTheyYield(t *testing.T) {
	t.Parallel()
	envs, err := newExpressionEnvs()
	require.NoError(t, err)
	for _, example := range pageExamples(t, readExpressionsPage(t)) {
		t.Run(example.expression, func(t *testing.T) {
			t.Parallel()
			compiled, err := compileExpression(envs.render, example.expression, wantAny)
			if reason, refused := strings.CutPrefix(example.yields, "refused: "); refused {
				require.ErrorContains(t, err, reason)
				return
			}
			require.NoError(t, err)
			scope := newEventScope(t.Context(), example.event)
			scope.current, scope.timeout = example.current, time.Minute
			value, err := compiled.eval(scope)
			var got []byte
			if err == nil {
				got, err = encodeJSON(value)
			}
			if reason, fails := strings.CutPrefix(example.yields, "error: "); fails {
				require.ErrorContains(t, err, reason)
				return
			}
			require.NoError(t, err)
			require.Equal(t, compactJSON(t, []byte(example.yields)), compactJSON(t, got))
		})
	}
}

func compactJSON(t *testing.T, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, json.Compact(&out, text), string(text))
	return out.String()
}

// unspeakable lists functions that no expression can call by these names: former operator names,
// and parts of macros.
var unspeakable = []string{"in", "_in_", "__not_strictly_false__"}

func TestThePageOfExpressionsNamesEveryVariableAndFunction(t *testing.T) {
	t.Parallel()
	page := readExpressionsPage(t)
	envs, err := newExpressionEnvs()
	require.NoError(t, err)

	var variables []string
	for _, v := range envs.render.Variables() {
		variables = append(variables, v.Name())
	}
	require.ElementsMatch(t, variables, firstColumn(page, "| variable | type |"))
	require.ElementsMatch(t, []string{"event.id", "event.type", "event.source", "event.provider", "event.occurred_at", "event.received_at", "event.origin", "event.altered", "event.age"},
		firstColumn(page, "| field | type |"))

	callable := regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9.]*$`)
	known := map[string]bool{}
	called := callsOf(t, envs.render, pageExamples(t, page))
	for name := range envs.render.Functions() {
		if slices.Contains(unspeakable, name) {
			continue
		}
		require.True(t, called[name], "no example on the page uses %s", name)
		if callable.MatchString(name) {
			known[name] = true
		}
	}
	for _, macro := range envs.render.Macros() {
		name := macro.Function()
		if name == "least" || name == "greatest" {
			name = "math." + name
		}
		known[name] = true
	}
	named := map[string]bool{}
	for _, row := range pageRow.FindAllStringSubmatch(page, -1) {
		for _, call := range pageCall.FindAllStringSubmatch(row[1], -1) {
			named[call[1]] = true
		}
	}
	require.Equal(t, known, named, "the page's tables list the functions of the environment")
}

// callsOf returns the functions and operators that the examples call.
func callsOf(t *testing.T, env *cel.Env, examples []pageExample) map[string]bool {
	t.Helper()
	called := map[string]bool{}
	for _, example := range examples {
		if strings.HasPrefix(example.yields, "refused: ") {
			continue
		}
		ast, issues := env.Compile(example.expression)
		require.NoError(t, issues.Err(), example.expression)
		celast.PostOrderVisit(ast.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
			if e.Kind() == celast.CallKind {
				called[e.AsCall().FunctionName()] = true
			}
		}))
	}
	return called
}

// firstColumn returns the names in backquotes that begin the rows of a table.
func firstColumn(page, header string) []string {
	_, table, _ := strings.Cut(page, "\n"+header)
	table, _, _ = strings.Cut(table, "\n\n")
	var names []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		names = append(names, row[1])
	}
	return names
}

// The limits are constants, and the page states their values.
func TestThePageOfExpressionsHasTheLimits(t *testing.T) {
	t.Parallel()
	page := readExpressionsPage(t)
	for row, limit := range map[string]bool{
		"| text of an expression | 10,000 characters |":              maxExpression == 10_000,
		"| steps of one evaluation | 1,000,000, ":                    costLimit == 1_000_000,
		"| work of the functions of one evaluation | 16 MiB ":        maxWork == 16<<20,
		"| time of one evaluation | 250 ms |":                        evalTimeout == 250*time.Millisecond,
		"| rendered output of one route | 4 MiB |":                   maxRendered == 4<<20,
		"| an email template | 2 s |":                                renderTimeout == 2*time.Second,
		"| a key | 255 bytes | the key is replaced by its SHA-256 |": maxKey == 255,
	} {
		require.Contains(t, page, row, "the page has no row %q", row)
		require.True(t, limit, row)
	}
}
