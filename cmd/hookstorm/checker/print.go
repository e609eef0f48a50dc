package checker

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
)

// Print writes a verdict as text: the number of operations by result, the totals, and the first
// violations of each rule with their stories. The last line contains the number of all violations.
func Print(w io.Writer, v Verdict) error {
	out := bufio.NewWriter(w)
	for _, op := range slices.Sorted(maps.Keys(v.Totals.Results)) {
		results := v.Totals.Results[op]
		fmt.Fprintf(out, "%s\n", op)
		for _, result := range slices.Sorted(maps.Keys(results)) {
			fmt.Fprintf(out, "  %8d  %s\n", results[result], result)
		}
	}
	fmt.Fprintf(out, "%d deliveries acknowledged, %d events, %d effects, %d faults of %d kinds\n",
		v.Totals.Acked, v.Totals.Events, v.Totals.Effects, v.Totals.Faults, v.Totals.Kinds)
	fmt.Fprintf(out, "%d events decided by porcupine, %d by a weaker check: they had more than %d simultaneous deliveries\n", v.Totals.Decided, v.Totals.Wide, atOnce)
	ofRule := make(map[Rule]int)
	for i := range v.Violations {
		violation := &v.Violations[i]
		if ofRule[violation.Rule]++; ofRule[violation.Rule] > told {
			continue
		}
		fmt.Fprintf(out, "\n%s  %s\n  %s\n", violation.Rule, violation.Key, violation.Text)
		for j := range violation.Story {
			fmt.Fprintf(out, "    %s\n", Line(&violation.Story[j]))
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(ofRule)) {
		if ofRule[rule] > told {
			fmt.Fprintf(out, "\n%s was violated %d times; the first %d are above\n", rule, ofRule[rule], told)
		}
	}
	fmt.Fprintf(out, "\n%d violations\n", len(v.Violations))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("print verdict: %w", err)
	}
	return nil
}

// Line formats a record as one line of text: when, who, what.
func Line(r *history.Record) string {
	what := []string{string(r.Op), string(r.Kind)}
	switch {
	case r.Delivery != nil:
		d := r.Delivery
		what = append(what, fmt.Sprintf("%s/%s", d.Source, strings.Join(d.EventIDs, ",")), "to", d.Gateway, fmt.Sprintf("attempt %d, body %s", d.Attempt, short(d.Hash)))
		if !d.Signed {
			what = append(what, "without a valid signature")
		}
		if r.Kind != history.Invoke {
			what = append(what, "=>", answered(d.Status), d.Result)
		}
	case r.Call != nil:
		c := r.Call
		what = append(what, c.Destination, c.Key, "body "+short(c.Hash), "("+c.Behaviour+")")
		if r.Kind != history.Invoke {
			what = append(what, "=>", resultOfCall(c))
		}
	case r.Enqueue != nil:
		what = append(what, r.Enqueue.Destination, r.Enqueue.Key, "by", r.Enqueue.Via)
		if r.Enqueue.Rollback {
			what = append(what, "rolled back")
		}
	case r.Order != nil:
		o := order{Order: *r.Order}
		what = append(what, o.Action, o.target())
		if o.NewKeys {
			what = append(what, "with new keys")
		}
		if o.Generation > 0 {
			what = append(what, fmt.Sprintf("=> generation %d", o.Generation))
		}
	case r.Op == history.OpTable:
		what = []string{r.Table, columns(r.Table, r.Columns)}
	}
	if r.Text != "" {
		what = append(what, "("+r.Text+")")
	}
	return fmt.Sprintf("%12.6f  %-12s %s", float64(r.At)/1e6, r.Who, strings.TrimSpace(strings.Join(what, " ")))
}

func answered(status int) string {
	if status == 0 {
		return "no answer"
	}
	return strconv.Itoa(status)
}

// columns formats a row sorted by column name. It omits null and empty values. For attempts and
// transitions, it also omits the effect's identity, the row's id, and the time by which a story
// sorts the row.
func columns(table string, row json.RawMessage) string {
	var all map[string]json.RawMessage
	if json.Unmarshal(row, &all) != nil {
		return string(row)
	}
	if table == tableAttempts || table == tableTransitions {
		for _, name := range []string{"scope", "key", "generation", "id", "at", "started_at"} {
			delete(all, name)
		}
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if value := string(all[name]); value != "null" && value != `""` {
			said = append(said, name+"="+strings.Trim(value, `"`))
		}
	}
	return strings.Join(said, " ")
}
