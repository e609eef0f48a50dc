package torture

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// The lines of docs/guarantees.md between which the totals stand.
const (
	totalsBegin = "<!-- totals of torture: written by hookstorm check --publish -->"
	totalsEnd   = "<!-- end of totals -->"
)

// Published is a run whose totals are published.
type Published struct {
	Result Result
	Run    history.Run
}

// Publish writes the totals of runs into a page, in the place of those that stand
// there. A run with violations is not published.
func Publish(page string, runs []Published) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read the page of the totals: %w", err)
	}
	before, rest, begins := strings.Cut(string(text), totalsBegin)
	_, after, ends := strings.Cut(rest, totalsEnd)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the totals, which is between %q and %q", page, totalsBegin, totalsEnd)
	}
	totals, err := totalsOf(runs)
	if err != nil {
		return err
	}
	if err := os.WriteFile(page, []byte(before+totalsBegin+"\n"+totals+totalsEnd+after), 0o644); err != nil { //nolint:gosec // a page of the documentation
		return fmt.Errorf("write the page of the totals: %w", err)
	}
	return nil
}

// totalsOf are the totals of all runs, and a row for each.
func totalsOf(runs []Published) (string, error) {
	var acked int64
	var counts [][]FaultCount
	var rows strings.Builder
	for _, run := range runs {
		if n := len(run.Result.Verdict.Violations); n > 0 {
			return "", fmt.Errorf("%s has %d violations: they are to be repaired, not published", run.Result.History, n)
		}
		if run.Run.Command == "" {
			return "", errors.New("a history does not say which run it is of")
		}
		faults, kinds := Fired(run.Result.Faults)
		fmt.Fprintf(&rows, "| %d | %d | %d of %d kinds | 0 | %.12s | `%s` |\n",
			run.Run.Seed, run.Result.Acked, faults, kinds, run.Result.Commit, run.Run.Command)
		acked += run.Result.Acked
		counts = append(counts, run.Result.Faults)
	}
	faults, kinds := Fired(Merge(counts...))
	return fmt.Sprintf(`
**%d deliveries acknowledged, %d faults of %d kinds, 0 violations.**

| seed | acknowledged | faults | violations | commit | command |
|---|---|---|---|---|---|
%s
`, acked, faults, kinds, rows.String()), nil
}
