package route

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/inbox"
)

// A timeout is the machine's fault: the event is dispatched again.
func TestAnEvaluationThatTakesTooLongIsNotTheEventsFault(t *testing.T) {
	t.Parallel()
	table := compiled(t, Options{Routes: []Route{{Name: "r", From: []string{"*"}, To: "app", When: `body.list.all(a, body.list.all(b, a < b + 1000000))`}}})
	e := (&planCase{}).event()
	e.ContentType, e.Body = jsonContentType, []byte(`{"list":[`+strings.Repeat("1,", 1000)+`1]}`)
	ctx, cancel := context.WithDeadlineCause(t.Context(), time.Now(), errTooLong)
	defer cancel()
	effects, err := table.Plan(ctx, e)
	require.ErrorIs(t, err, errTooLong)
	require.Empty(t, effects)
}

// Expressions cannot read a body that its source would no longer accept. The body may still be
// forwarded unchanged.
func TestExpressionsSeeBodiesUpToTheCapOfTheSource(t *testing.T) {
	t.Parallel()
	routes := []Route{
		{Name: "reads", From: []string{"*"}, To: "app", When: `body.a == "x"`},
		{Name: "forwards", From: []string{"*"}, To: "app", When: `event.type != "none"`},
		{Name: "mails", From: []string{"*"}, To: "mail", Email: &EmailMessage{Recipient: `"a@example.com"`, Subject: "{{ .body.a }}", Text: "x"}},
	}
	var limit int64
	table := compiled(t, Options{Routes: routes, MaxBody: func(string) int64 { return limit }})
	e := (&planCase{}).event()
	e.Source, e.ContentType, e.Body = "shop", jsonContentType, []byte(`{"a":"x"}`)
	for size, parked := range map[int64]bool{0: false, 9: false, 8: true} {
		limit = size
		effects, err := table.Plan(t.Context(), e)
		require.NoError(t, err)
		require.Len(t, effects, 3)
		for i, r := range routes {
			require.Equal(t, parked && r.Name != "forwards", effects[i].Parked != "", "%s at %d: %s", r.Name, limit, effects[i].Parked)
		}
	}
	limit = 8
	effects, err := table.Plan(t.Context(), e)
	require.NoError(t, err)
	require.Equal(t, `route "reads": when: body has 9 bytes; source "shop" allows at most 8 (max_body)`, effects[0].Parked)
}

// Guarded calls return the same results as CEL's own calls.
func TestGuardedCallsAnswerAsCELDoes(t *testing.T) {
	t.Parallel()
	envs, err := newExpressionEnvs()
	require.NoError(t, err)
	scope := newEventScope(t.Context(), &inbox.Event{ContentType: jsonContentType, Body: []byte(`{"n":3,"s":"a,b","l":["a","b","a"],"m":{"k":1.0}}`)})
	for text, want := range map[string]bool{
		`body.n == 3.0 && body.n != "3" && body.m == {"k": 1}`:                          true,
		`"a" in body.l && !("c" in body.l) && "k" in body.m && body.n in [1, 2, 3]`:     true,
		`body.s.split(",") == ["a", "b"] && body.l.join("-") == "a-b-a"`:                true,
		`body.l.distinct() == ["a", "b"] && sets.contains(body.l, ["a"])`:               true,
		`body.s.matches("^a,.$") && body.s.matches(body.s) && !body.s.matches("c")`:     true,
		`body.s.replace(",", "") + "c" == "abc" && "%s-%d".format([body.s, 1]) != ""`:   true,
		`body.l.map(x, x + "!") == ["a!", "b!", "a!"] && body.l.sort()[0] == "a"`:       true,
		`string(body.n) == "3" && int("4") == 4 && base64.encode(b"a") == "YQ=="`:       true,
		`timestamp("2026-01-02T03:04:05Z").getFullYear() == 2026 && body.s.size() == 3`: true,
		`body.missing == 1 || true`: true,
	} {
		e, err := compileExpression(envs.dispatch, text, wantBool)
		require.NoError(t, err, text)
		got, err := e.evalBool(scope)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{`body.missing == 1`, `body.n.split(",") == []`, `body.n.matches("a")`, `body.n + "a" == ""`} {
		e, err := compileExpression(envs.dispatch, text, wantBool)
		require.NoError(t, err, text)
		_, err = e.evalBool(scope)
		require.Error(t, err, text)
	}
	_, err = compileExpression(envs.dispatch, `body.s.matches("(")`, wantBool)
	require.Error(t, err)
}

// CEL replaces each alias of a YAML document with a copy.
//
//nolint:paralleltest // it measures what the process allocates
func TestAliasesOfYAMLAreCounted(t *testing.T) {
	envs, err := newExpressionEnvs()
	require.NoError(t, err)
	parse, err := compileExpression(envs.dispatch, `yaml.parse(body.s).hasValue()`, wantBool)
	require.NoError(t, err)
	// The parser itself refuses a document in which aliases account for more than 99 % of the values.
	plain := "p: [" + strings.Repeat("1,", 2000) + "1]\n"
	long := plain + "a: &a " + strings.Repeat("x", 8<<10) + "\nb: &b [" + strings.Repeat("*a,", 100) + "]\n"
	for _, c := range []struct {
		name, text string
		allowed    bool
	}{
		{"few", "a: &a {b: c}\nd: [*a, *a]\ne: 2 * 3\n", true},
		{"long", long + "c: [" + strings.Repeat("*b,", 250) + "]", false},
		{"nested", plain + "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]", false},
	} {
		body, err := json.Marshal(map[string]string{"s": c.text})
		require.NoError(t, err)
		var before, after runtime.MemStats
		scope := newEventScope(t.Context(), &inbox.Event{ContentType: jsonContentType, Body: body})
		scope.timeout = time.Minute // for a busy machine
		runtime.ReadMemStats(&before)
		got, err := parse.evalBool(scope)
		runtime.ReadMemStats(&after)
		require.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(64), c.name)
		if c.allowed {
			require.NoError(t, err, c.name)
			require.True(t, got, c.name)
			continue
		}
		require.ErrorContains(t, err, "too much to do", c.name)
	}
}
