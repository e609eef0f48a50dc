package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hooklatch/hooklatch/internal/spread"
)

// Print writes the report in Markdown, with aligned columns, so that it is also readable as plain
// text.
func (r *Report) Print(w io.Writer) error {
	var page strings.Builder
	r.heading(&page)
	for _, section := range r.sections() {
		fmt.Fprintf(&page, "\n**%s**\n\n%s", section, grid(r.table(section)))
	}
	if len(r.Goals) > 0 {
		fmt.Fprintf(&page, "\n**Goals**: the median, and the values between which it lies with %.0f %% certainty\n\n%s", 100*spread.Certainty, grid(r.goals()))
	}
	_, err := io.WriteString(w, page.String())
	return err
}

// heading describes the conditions of the measurements.
func (r *Report) heading(page *strings.Builder) {
	fmt.Fprintf(page, "%s, commit %s, %s. Client, servers and Postgres share the machine.\n", r.Began.Format("2 January 2006"), r.Commit, r.Machine)
	if r.Postgres != "" {
		var settings []string
		for _, s := range r.Settings {
			settings = append(settings, s.Name+" "+s.Value)
		}
		fmt.Fprintf(page, "Postgres %s, a separate server for each system. Settings: %s.\n", r.Postgres, strings.Join(settings, ", "))
	}
	if r.Previous != "" {
		fmt.Fprintf(page, "Previous commit: %s.\n", r.Previous)
	}
	fmt.Fprintf(page, "Command: `%s`. Medians of %s, with the smallest and the largest value; CPU and WAL are per event.\n", r.Command, counted(r.Rounds, "round"))
	r.disturbances(page)
	if r.filled() {
		fmt.Fprintf(page, "Large tables: %s events and effects; waiting: a tenth of that as waiting effects and a fifth as finished ones; backfill: a hundredth.\n", number(float64(r.Rows)))
	}
	if r.Quick {
		page.WriteString("A quick run: it shows that everything works, its figures mean little.\n")
	}
}

// disturbances describes how the host disturbed the measurements.
func (r *Report) disturbances(page *strings.Builder) {
	if len(r.Stolen) > 0 && slices.Max(r.Stolen) > 0 {
		fmt.Fprintf(page, "The host gave %.1f %% (%.1f..%.1f) of the CPU time of a round to other guests.", 100*median(r.Stolen), 100*slices.Min(r.Stolen), 100*slices.Max(r.Stolen))
		if r.LeftOut > 0 {
			fmt.Fprintf(page, " Left out: %s in which it gave more.", counted(r.LeftOut, "round"))
		}
		page.WriteString("\n")
	}
}

// filled reports whether the report has a section whose size depends on Rows.
func (r *Report) filled() bool {
	return slices.ContainsFunc(r.sections(), func(section string) bool {
		return slices.Contains([]string{SectionGrowth, SectionYears, SectionWaiting, SectionBackfill, SectionDiff}, section)
	})
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sections returns the measured sections.
func (r *Report) sections() []string {
	var sections []string
	for _, s := range r.Series {
		if !slices.Contains(sections, s.Section) {
			sections = append(sections, s.Section)
		}
	}
	return sections
}

// table returns a header, a row for each measured subject and a column for each quantity.
func (r *Report) table(section string) [][]string {
	var who []string
	var quantities []Quantity
	for _, s := range r.Series {
		if s.Section != section {
			continue
		}
		if !slices.Contains(who, s.Who) {
			who = append(who, s.Who)
		}
		if !slices.Contains(quantities, s.Quantity) {
			quantities = append(quantities, s.Quantity)
		}
	}
	header := []string{""}
	for _, quantity := range quantities {
		title := string(quantity)
		if unit := units[quantity]; unit != "" {
			title += " " + unit
		}
		header = append(header, title)
	}
	rows := [][]string{header}
	for _, one := range who {
		row := []string{one}
		for _, quantity := range quantities {
			row = append(row, ranged(r.values(section, one, quantity)))
		}
		rows = append(rows, row)
	}
	return rows
}

// goals returns a header and a row for each goal, including goals that were not measured.
func (r *Report) goals() [][]string {
	rows := [][]string{{"", "goal", "result", "gap"}}
	for _, o := range r.Goals {
		bound := "at most "
		if o.AtLeast {
			bound = "at least "
		}
		result := "-"
		if o.Measured {
			result = number(o.Median) + o.unit() + " (" + number(o.Low) + ".." + number(o.High) + ")"
		}
		rows = append(rows, []string{o.Name, bound + number(o.Want) + o.unit(), result, o.gap()})
	}
	return rows
}

func (o Outcome) unit() string {
	if o.Unit == "x" || o.Unit == "/s" || o.Unit == "" {
		return o.Unit
	}
	return " " + o.Unit
}

// gap describes whether a goal was reached, or by which factor it was missed, and whether this
// result is certain.
func (o Outcome) gap() string {
	const unsure = ", but not certain"
	switch {
	case !o.Measured:
		return "not measured"
	case o.Met && o.Sure:
		return "reached"
	case o.Met:
		return "reached" + unsure
	}
	factor := o.Median / o.Want
	if o.AtLeast {
		factor = o.Want / o.Median
	}
	if math.IsInf(factor, 0) || math.IsNaN(factor) {
		return "missed"
	}
	missed := fmt.Sprintf("missed by a factor of %.2f", factor)
	if !o.Sure {
		missed += unsure
	}
	return missed
}

// ranged formats the median with the smallest and largest value of all rounds.
func ranged(values []float64) string {
	switch len(values) {
	case 0:
		return "-"
	case 1:
		return number(values[0])
	}
	return fmt.Sprintf("%s (%s..%s)", number(median(values)), number(slices.Min(values)), number(slices.Max(values)))
}

// number formats a value with two decimals below 10, one below 100 and none above, and separates
// thousands.
func number(value float64) string {
	switch abs := math.Abs(value); {
	case abs == 0:
		return "0"
	case abs >= 1000:
		whole := strconv.FormatInt(int64(math.Round(value)), 10)
		for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
		return whole
	case abs >= 100:
		return fmt.Sprintf("%.0f", value)
	case abs >= 10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}

// grid formats a table in Markdown with aligned columns.
func grid(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	var text strings.Builder
	line := func(cells []string, fill string) {
		for i, cell := range cells {
			pad := strings.Repeat(fill, widths[i]-utf8.RuneCountInString(cell))
			fmt.Fprintf(&text, "| %s%s ", cell, pad)
		}
		text.WriteString("|\n")
	}
	line(rows[0], " ")
	line(make([]string, len(rows[0])), "-")
	for _, row := range rows[1:] {
		line(row, " ")
	}
	return text.String()
}
