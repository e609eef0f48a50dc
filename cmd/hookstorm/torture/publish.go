package torture

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/page"
)

// totalsPlace is the section of docs/guarantees.md with the totals.
var totalsPlace = page.Place{
	Begin: "<!-- totals of torture: written by hookstorm check --publish -->",
	End:   "<!-- end of totals -->",
}

// Published is a run for Publish: its result, and its description in the history.
type Published struct {
	Result Result
	Run    history.Run
}

// Publish replaces a page's totals with the totals of runs. It refuses a run with violations.
func Publish(path string, runs []Published) error {
	totals, err := totalsOf(runs)
	if err != nil {
		return err
	}
	return totalsPlace.Fill(path, totals)
}

// totalsOf formats the totals of all runs, and a row for each run.
func totalsOf(runs []Published) (string, error) {
	var acked int64
	var counts [][]FaultCount
	var rows strings.Builder
	for _, run := range runs {
		if n := len(run.Result.Verdict.Violations); n > 0 {
			return "", fmt.Errorf("%s has %d violations: fix them before publishing", run.Result.History, n)
		}
		if run.Run.Command == "" {
			return "", errors.New("a history does not describe its run")
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
