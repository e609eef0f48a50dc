package route

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"
	"github.com/stretchr/testify/require"
)

// worstValues returns the most expensive arguments by type, such as a mebibyte of text or a list of
// 100,000 elements.
func worstValues() map[types.Kind][]any {
	const mebi, many = 1 << 20, 100_000
	numbers, texts, equal, nested := make([]any, many), make([]any, many), make([]any, many), make([]any, many)
	entries := make(map[string]any, many)
	for i := range many {
		numbers[i], texts[i], equal[i], nested[i] = int64(i), fmt.Sprint("text ", i), "same", []any{int64(i)}
		entries[fmt.Sprint("key ", i)] = int64(i)
	}
	long := strings.Repeat("a", mebi)
	text := []any{
		long, long[:mebi/2] + "b", "", "a", strings.Repeat("a,", mebi/2), strings.Repeat("%s", 1000), "(a|a|a|a)*b", strings.Repeat("(a*)*", 5000),
		"[" + strings.Repeat("1,", mebi/2-1) + "1]", "- " + strings.Repeat("[", 10_000), strings.Repeat("- 1\n", mebi/4),
	}
	// Each alias of this YAML document stands for a whole text or list. The parser refuses a document
	// in which aliases account for more than 99 % of the values.
	text = append(text, "p: ["+strings.Repeat("1,", 1000)+"1]\na: &a "+strings.Repeat("x", 8<<10)+"\nb: &b ["+strings.Repeat("*a,", 100)+"]\nc: ["+strings.Repeat("*b,", 250)+"]")
	lists := []any{numbers, texts, equal, nested, []any{}, []any{long, long, long}, []any{"a"}}
	whole := []any{int64(0), int64(1), int64(many), int64(1) << 40, int64(-1)}
	return map[types.Kind][]any{
		types.StringKind:    text,
		types.BytesKind:     {[]byte(long), []byte{}},
		types.IntKind:       whole,
		types.UintKind:      {uint64(1), uint64(1) << 63},
		types.DoubleKind:    {1.5, 1e300},
		types.BoolKind:      {true},
		types.ListKind:      lists,
		types.MapKind:       {entries, map[string]any{"a": long}},
		types.DurationKind:  {time.Hour},
		types.TimestampKind: {time.Now()},
		types.OpaqueKind:    {types.OptionalOf(types.String(long)), types.OptionalNone},
		types.TypeKind:      {types.StringType},
		types.DynKind:       {numbers, texts, entries, long, int64(1)},
		types.TypeParamKind: {numbers, texts, entries, long, int64(1)},
	}
}

// callScope contains the arguments a0, a1, ... of one call.
type callScope struct {
	args  []any
	meter meter
}

func (s *callScope) ResolveName(name string) (any, bool) {
	if name == meterName {
		return &s.meter, true
	}
	var i int
	if n, err := fmt.Sscanf(name, "a%d", &i); err != nil || n != 1 {
		return nil, false
	}
	return s.args[i], true
}
func (s *callScope) Parent() cel.Activation { return nil }

// callOf returns a call of the overload with the variables a0, a1, ...
func callOf(function string, overload *decls.OverloadDecl) *celast.AST {
	factory := celast.NewExprFactory()
	args := make([]celast.Expr, len(overload.ArgTypes()))
	for i := range args {
		args[i] = factory.NewIdent(int64(i+2), fmt.Sprint("a", i))
	}
	call := factory.NewCall(1, function, args...)
	if overload.IsMemberFunction() {
		call = factory.NewMemberCall(1, function, args[0], args[1:]...)
	}
	return celast.NewAST(call, celast.NewSourceInfo(nil))
}

// product calls do for every combination of one value from each list.
func product(lists [][]any, do func([]any)) {
	chosen := make([]any, len(lists))
	var choose func(i int)
	choose = func(i int) {
		if i == len(lists) {
			do(chosen)
			return
		}
		for _, v := range lists[i] {
			chosen[i] = v
			choose(i + 1)
		}
	}
	choose(0)
}

func TestEveryFunctionHasABound(t *testing.T) {
	t.Parallel()
	envs, err := newExpressionEnvs()
	require.NoError(t, err)
	for name := range envs.render.Functions() {
		_, known := workOf(name)
		require.True(t, known, "%s: add a rule to workOf", name)
	}
}

// Every call of a function, with any arguments, either returns soon and uses little memory, or is
// refused. With HOOKLATCH_LONG=1, on a quiet machine, the limits are 100 ms and 64 MiB; otherwise
// they are 1 s and 256 MiB, and fewer inputs are tried. The race detector slows matches() down
// tenfold, and finds nothing in one goroutine. With the race detector, few inputs are tried, only
// to check that every call ends.
//
//nolint:paralleltest // it measures what the process allocates
func TestEveryOverloadIsBounded(t *testing.T) {
	long := os.Getenv("HOOKLATCH_LONG") != ""
	limit, memory, most := time.Second, uint64(256<<20), 60
	switch {
	case raceDetector:
		limit, most = 10*time.Second, 10
	case long:
		limit, memory, most = 100*time.Millisecond, 64<<20, 1<<30
	}
	envs, err := newExpressionEnvs()
	require.NoError(t, err)
	worst := worstValues()
	overloads, calls, refused := 0, 0, 0
	for name, function := range envs.render.Functions() {
		for _, overload := range function.OverloadDecls() {
			overloads++
			program, err := planExpression(envs.render, callOf(name, overload))
			require.NoError(t, err, overload.ID())
			lists, choices := make([][]any, len(overload.ArgTypes())), 1
			for i, arg := range overload.ArgTypes() {
				lists[i] = worst[arg.Kind()]
				require.NotEmpty(t, lists[i], "%s: no values of type %s", overload.ID(), arg)
				choices *= len(lists[i])
			}
			every, n := choices/most+1, 0
			product(lists, func(args []any) {
				if n++; n%every != 0 && choices > most {
					return
				}
				calls++
				took, allocated, err := measure(program, args)
				for again := 0; again < 4 && took > limit; again++ { // another process may have used the CPU
					next, _, _ := measure(program, args)
					took = min(took, next)
				}
				if _, cancelled := errors.AsType[interpreter.EvalCancelledError](err); cancelled {
					refused++
				}
				if took > limit || allocated > memory {
					t.Errorf("%s took %s and %d MiB: %s: %v", overload.ID(), took, allocated>>20, describeArgs(args), err)
				}
			})
		}
	}
	t.Logf("%d overloads, %d calls, %d refused", overloads, calls, refused)
	require.Greater(t, overloads, 200)
	require.Positive(t, refused)
}

func measure(program cel.Program, args []any) (took time.Duration, allocated uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	_, _, err = program.ContextEval(context.Background(), &callScope{args: args, meter: meter{left: maxWork}})
	took = time.Since(start)
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc, err
}

func describeArgs(args []any) string {
	var b strings.Builder
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			fmt.Fprintf(&b, "%.20q (%d bytes) ", v, len(v))
		case []any:
			fmt.Fprintf(&b, "%.20v (%d elements) ", v[:min(len(v), 2)], len(v))
		default:
			fmt.Fprintf(&b, "%.20v ", fmt.Sprintf("%T", v))
		}
	}
	return b.String()
}
