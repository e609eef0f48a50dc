package torture

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/checker"
)

// Print writes the result of a run. The last line contains the number of violations.
func Print(out io.Writer, r Result) error {
	var said strings.Builder
	fmt.Fprintf(&said, "commit %s, %s\n\n%s", r.Commit, r.Lasted.Round(time.Second), table(r.Faults))
	if r.Gaps != nil {
		said.WriteString(gapTable(r.Gaps))
		fmt.Fprintf(&said, "%d processes ended by themselves %v\n\n", len(r.Crashes), r.Crashes)
	}
	for _, left := range r.Left {
		fmt.Fprintf(&said, "omitted: %s\n", left)
	}
	if err := write(out, said.String()); err != nil {
		return err
	}
	if err := checker.Print(out, r.Verdict); err != nil {
		return err
	}
	again := ""
	if len(r.Verdict.Violations) > 0 {
		again = fmt.Sprintf("history: %s\nrepeat with: %s\n", r.History, r.Command)
	}
	return write(out, again+totals(r))
}

// PrintTotals writes the combined result of several runs.
func PrintTotals(out io.Writer, r Result) error {
	return write(out, "\nall runs\n\n"+table(r.Faults)+"\n"+totals(r))
}

func totals(r Result) string {
	faults, kinds := Fired(r.Faults)
	return fmt.Sprintf("%d acknowledged, %d faults of %d kinds, %d violations\n", r.Acked, faults, kinds, len(r.Verdict.Violations))
}

func write(out io.Writer, text string) error {
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// table formats a row for each kind of fault. The row contains how often the fault struck, how
// often it struck during deliveries, and how often it missed. It also contains how many deliveries
// were acknowledged in the second before a strike.
func table(faults []FaultCount) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "struck\tduring deliveries\tmissed\tacknowledged in the second before: min\tmedian\tmax\t fault") // a strings.Builder accepts all writes
	for _, c := range faults {
		kind := c.Kind
		if c.Simulated {
			kind += " (simulated)"
		}
		least, most := 0, 0
		if n := len(c.AckedLast); n > 0 {
			least, most = c.AckedLast[0], c.AckedLast[n-1]
		}
		_, _ = fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%d\t %s\n", c.Fired, c.Busy, c.Missed, least, c.Median(), most, kind)
	}
	_ = t.Flush()
	b.WriteByte('\n')
	return b.String()
}
