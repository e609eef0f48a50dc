package route

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/stretchr/testify/require"
)

// maxCompiled is the maximum number of bytes that compiling a condition of 1,000 characters
// allocates. It is three times the largest amount measured for any kind of nesting. Without a
// limit, compiling allocates gigabytes.
const maxCompiled = 32 << 20

// nested returns functions by kind of nesting. Each function returns a condition that is nested n
// levels deep.
func nested() map[string]func(n int) string {
	around := func(open, middle, end, after string) func(int) string {
		return func(n int) string { return strings.Repeat(open, n) + middle + strings.Repeat(end, n) + after }
	}
	return map[string]func(n int) string{
		"lists":                 around("[", "", "]", ".size() > 0"),
		"lists of a value":      around("[", "1", "]", ".size() > 0"),
		"maps":                  around("{1:", "1", "}", ".size() > 0"),
		"maps in lists":         around("[{1:", "1", "}]", ".size() > 0"),
		"optional":              around("optional.of(", "1", ")", ".hasValue()"),
		"arguments":             around("string(", "1", ")", " == ''"),
		"math":                  around("math.greatest(", "1", ",3)", " > 0"),
		"macros":                around("[1].all(x,", "true", ")", ""),
		"macros of lists":       around("[1].map(x,", "1", ")", ".size() > 0"),
		"macros in a row":       around("", "[1]", ".map(x,[x])", ".size() > 0"),
		"optional macros":       around("", "optional.of(1)", ".optMap(x,[x])", ".hasValue()"),
		"optional flat macros":  around("", "optional.of(1)", ".optFlatMap(x,optional.of([x]))", ".hasValue()"),
		"lists in a ternary":    around("(true ? [", "[]", "] : [])", " == []"),
		"comparisons of lists":  func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) + "==[]" },
		"indexes of new lists":  around("[", "0", "][0]", " == 0"),
		"elements of one list":  func(n int) string { return "[[1]," + strings.Repeat("[", n) + "1" + strings.Repeat("]", n) + "] == []" },
		"values of a ternary":   around("(true ? optional.of(", "1", ") : optional.none())", ".hasValue()"),
		"lists that are joined": func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) + "+[] == []" },
	}
}

// Every kind of nesting is refused above the limit, in conditions and in routes, and the error
// states the limit.
func TestDeepNestingIsRefused(t *testing.T) {
	t.Parallel()
	envs, err := newExpressionEnvs()
	require.NoError(t, err)
	typed, err := NewConditions()
	require.NoError(t, err)
	for name, of := range nested() {
		for _, n := range []int{maxNesting + 2, 60, 80} {
			_, err := compileExpression(envs.dispatch, of(n), wantBool)
			require.ErrorContains(t, err, "at most 32 lists", "%s, %d deep", name, n)
			_, err = compileExpression(envs.render, of(n), wantBool)
			require.ErrorContains(t, err, "at most 32 lists", "%s, %d deep", name, n)
			if text := of(n); len(text) <= maxTyped {
				require.ErrorContains(t, typed.compile(text).err, "at most 32 lists", "%s, %d deep", name, n)
			}
		}
		_, err := compileExpression(envs.dispatch, of(8), wantBool)
		require.NoError(t, err, name)
	}
}

// The cost of chains is proportional to their length, so routes may have long chains.
func TestLongChainsAreCompiled(t *testing.T) {
	t.Parallel()
	envs, err := newExpressionEnvs()
	require.NoError(t, err)
	for name, text := range map[string]string{
		"text":    strings.Repeat(`"a" + body.a + `, 100) + `"" == ""`,
		"or":      strings.Repeat(`body.a == "a" || `, 200) + "true",
		"and":     strings.Repeat(`body.a == "a" && `, 200) + "true",
		"ternary": strings.Repeat(`body.a == "a" ? 1 > 0 : `, 200) + "true",
		"fields":  "body" + strings.Repeat(".a", 200),
		"indexes": "body" + strings.Repeat("[0]", 200),
		"calls":   "body.a" + strings.Repeat(".trim()", 200) + ` == ""`,
		"not":     strings.Repeat("!", 200) + "true",
		"list":    "[" + strings.Repeat("1,", 2_000) + "1].size() > 0",
	} {
		_, err := compileExpression(envs.dispatch, text, wantBool)
		require.NoError(t, err, name)
	}
	_, err = compileExpression(envs.dispatch, "body"+strings.Repeat(".a", 300), wantBool)
	require.ErrorContains(t, err, "at most 250 operators, fields and calls")
	typed, err := NewConditions()
	require.NoError(t, err)
	require.ErrorContains(t, typed.compile("body"+strings.Repeat(".a", 100)).err, "at most 32 operators, fields and calls")
}

// allocated returns the bytes that a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Compiling any condition that a user types takes a limited amount of work. Allocations represent
// the work, since time depends on the machine.
func TestCompilingIsBoundedWork(t *testing.T) { //nolint:paralleltest // it counts allocations
	typed, err := NewConditions()
	require.NoError(t, err)
	for name, of := range nested() {
		for n := 4; n <= maxNesting+4; n += 4 {
			text := of(n)
			if len(text) > maxTyped {
				break
			}
			text += strings.Repeat("||"+text, (maxTyped-len(text))/(len(text)+2))
			began := time.Now()
			work := allocated(func() { typed.compile(text) })
			require.Less(t, work, uint64(maxCompiled), "%s, %d deep", name, n)
			if os.Getenv("HOOKLATCH_LONG") != "" {
				require.Less(t, time.Since(began), time.Second, "%s, %d deep", name, n)
			}
		}
	}
}

// FuzzCompilingIsBounded checks that no condition text takes much work to compile.
func FuzzCompilingIsBounded(f *testing.F) {
	for _, of := range nested() {
		for _, n := range []int{4, 24, maxNesting, 120} {
			f.Add(of(n))
		}
	}
	f.Add(`body.a.matches("(?:` + strings.Repeat("a", 900) + `){1000}")`)
	typed, err := NewConditions()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxTyped {
			return
		}
		require.Less(t, allocated(func() { typed.compile(text) }), uint64(maxCompiled))
	})
}

// A pattern is refused because of its compiled size, not because of the length of its text.
func TestLargePatternsAreRefused(t *testing.T) { //nolint:paralleltest // it counts allocations
	typed, err := NewConditions()
	require.NoError(t, err)
	for _, pattern := range []string{
		"(?:" + strings.Repeat("a", 900) + "){1000}", "(?i)(?:" + strings.Repeat("k", 900) + "){1000}", strings.Repeat("a{1000}", 100), strings.Repeat("(?:ab?){500}", 40),
		"(?:(?:a{30}){30}" + strings.Repeat("b{900}", 100) + ")", "(?:" + strings.Repeat("[a-z]", 150) + "){0,900}", "(?:" + strings.Repeat("a|b?c", 100) + "){999,}",
	} {
		work := allocated(func() {
			_, err = compileCondition(typed.env, `"a".matches("`+pattern+`")`)
		})
		require.ErrorContains(t, err, "at most 16384 are allowed", pattern)
		require.Less(t, work, uint64(maxCompiled), pattern)
		require.Greater(t, matchWork([]ref.Val{types.String("a"), types.String(pattern)}, maxWork), maxWork/4*3, "a pattern from an event is charged in the same way")
	}
	for _, pattern := range []string{`^[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,255}$`, "^.{0,1000}$", `\\pL{1,500}`, strings.Repeat("a", 900)} {
		_, err := compileCondition(typed.env, `body.a.matches("`+pattern+`")`)
		require.NoError(t, err, pattern)
	}
}

// The program that package regexp compiles from a pattern has at most twice the estimated number of
// instructions, plus 4.
func TestPatternsAreNoLargerThanEstimated(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"", "a", "abc", "a|b|c", "abc|abd|xyz", "(a)(b)(c)", "(?:ab){7}", "(?:ab){2,7}", "(?:ab){3,}", "a*b+c?", "(?i)straße", `\pL{30}`, `[^a-z0-9]{5,50}`, "(?s).{0,99}$", "((a{3}){4}){5}", "(?:a?){100}",
	} {
		size, err := patternSize(pattern)
		require.NoError(t, err, pattern)
		states, err := types.RegexProgramSize(pattern)
		require.NoError(t, err, pattern)
		require.LessOrEqual(t, states, 2*size+4, pattern)
	}
}
