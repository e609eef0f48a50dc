package checker_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

const done = "testdata/good.accepted_and_done.jsonl"

func TestRunThatDidTooLittleIsAFailure(t *testing.T) {
	t.Parallel()
	v := check(t, done, checker.Options{MinAcked: 3, MinFaults: 1, Kinds: []string{"kill"}})
	var texts []string
	for _, violation := range v.Violations {
		require.Equal(t, checker.RuleVacuity, violation.Rule)
		texts = append(texts, violation.Text)
	}
	require.Equal(t, []string{
		"2 deliveries were acknowledged, but a meaningful run needs at least 3",
		"0 faults fired, but a meaningful run needs at least 1",
		"no fault of this kind fired",
	}, texts)
}

func TestDeploymentsAreCountedByChangeAndOrder(t *testing.T) {
	t.Parallel()
	v := check(t, "testdata/good.deployed_meanwhile.jsonl", checker.Options{})
	require.Equal(t, map[string]int{"route added, worker first": 1}, v.Totals.Results[string(history.OpDeploy)])
}

func TestViolationTellsTheStoryOfItsKey(t *testing.T) {
	t.Parallel()
	v := check(t, "testdata/bad.I8.called_again.jsonl", checker.Options{})
	require.Len(t, v.Violations, 1)
	key := v.Violations[0].Key
	for _, r := range v.Violations[0].Story {
		require.NotEqual(t, history.OpDeliver, r.Op, "records about the event alone are left out")
		if r.Call != nil {
			require.Equal(t, key, r.Call.Key)
		}
	}
	file, err := os.ReadFile("testdata/bad.I8.called_again.jsonl")
	require.NoError(t, err)
	story, err := checker.Story(bytes.NewReader(file), key)
	require.NoError(t, err)
	require.Equal(t, v.Violations[0].Story, story)

	text := printed(t, v)
	require.Contains(t, text, "    4.000000  receiver     call invoke careful "+key)
	require.True(t, strings.HasSuffix(text, "\n1 violations\n"), text)
}

func TestSecretsAreFoundWhereverTheyAre(t *testing.T) {
	t.Parallel()
	stripe, slack := scenario.SourceNamed("stripe").Secret.Reveal(), scenario.SourceNamed("slack").Secret.Reveal()
	log := "starting\n" + strings.Repeat("a line\n", 1000) + "key=" + stripe + "\nagain " + stripe + "\n" + slack
	for how, text := range map[string]io.Reader{
		"in one piece": strings.NewReader(log),
		"byte by byte": iotest.OneByteReader(strings.NewReader(log)),
		"in halves":    iotest.HalfReader(strings.NewReader(log)),
	} {
		leaks, err := checker.Leaks("gateway-1.log", text)
		require.NoError(t, err, how)
		require.Len(t, leaks, 2, how)
		require.Equal(t, "line 1002 has the secret of source stripe", leaks[0].Text, how)
		require.Equal(t, "line 1004 has the secret of source slack", leaks[1].Text, how)
	}
}

// A history is invalid if an operation ends without a beginning. It is also invalid if a record
// lacks the content that its op requires, or if a row is not an object.
func TestHistoryThatContradictsItselfIsNotJudged(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"t":1,"who":"s","kind":"ok","op":"deliver","id":7,"delivery":{}}`,
		`{"t":1,"who":"s","kind":"invoke","op":"deliver","id":7}`,
		`{"t":1,"who":"s","kind":"ok","op":"call","id":7,"call":{}}`,
		`{"t":1,"who":"s","kind":"ok","op":"enqueue","id":7,"enqueue":{}}`,
		`{"t":1,"who":"s","kind":"ok","op":"order","id":7,"order":{}}`,
		`{"t":1,"who":"d","kind":"row","op":"table","table":"effects","columns":[]}`,
	} {
		_, err := checker.Check(strings.NewReader(line+"\n"), checker.Options{})
		require.Error(t, err, line)
	}
}

// For every rule except vacuity, testdata has a history that violates the rule.
func TestEveryRuleHasABadHistory(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, path := range files(t, "bad.*.jsonl") {
		seen[strings.Split(filepath.Base(path), ".")[1]] = true
	}
	for rule := range strings.FieldsSeq("I1 I2 I3 I4 I5 I6 I7 I8 I9 I10 I11 I12 order pause ledger linear newest") {
		require.True(t, seen[rule], rule)
	}
}
