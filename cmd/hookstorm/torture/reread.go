package torture

import (
	"fmt"
	"os"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// Reread checks the history of an earlier run. It also returns the run's description from the
// history.
func Reread(path string) (Result, history.Run, error) {
	file, err := os.Open(path)
	if err != nil {
		return Result{}, history.Run{}, fmt.Errorf("open the history: %w", err)
	}
	defer file.Close()
	var faults faultCounts
	var about history.Run
	for record, err := range history.Read(file) {
		if err != nil {
			return Result{}, about, err
		}
		faults.watch(record)
		if record.Op == history.OpRun {
			about = *record.Run
		}
	}
	if _, err := file.Seek(0, 0); err != nil {
		return Result{}, about, fmt.Errorf("read the history again: %w", err)
	}
	verdict, err := checker.Check(file, Options{Production: about.Settings == settingsProduction}.checks())
	if err != nil {
		return Result{}, about, err
	}
	return Result{
		Verdict: verdict, Faults: faults.all(), Acked: int64(verdict.Totals.Acked), History: path, Commit: about.Commit, Command: about.Command,
	}, about, nil
}
