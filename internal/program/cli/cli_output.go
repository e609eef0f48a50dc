package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/internal/safetext"
)

func (c *cli) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.asJSON, "json", false, "print JSON")
}

// PrintJSON writes a value as indented JSON, without escaping HTML characters.
func PrintJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printLine prints a value as one line of JSON.
func printLine(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// listed makes JSON print an empty list as [], not as null.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// printList prints a table with a row for each item. If the list is empty, it prints the message in
// the parameter nothing instead. With --json, it prints the list as JSON.
func printList[T any](c *cli, list []T, nothing string, header []string, cells func(T) []string) error {
	if c.asJSON {
		return PrintJSON(c.Stdout, listed(list))
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(c.Stdout, nothing)
		return err
	}
	t := newTable(c.Stdout, header...)
	for _, one := range list {
		t.row(cells(one)...)
	}
	return t.flush()
}

// table writes aligned columns. Cells are made safe for a terminal.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, header ...string) *table {
	t := &table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(header...)
	return t
}

func (t *table) row(cells ...string) {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = safetext.Shown(cell)
	}
	fmt.Fprintln(t.w, strings.TrimRight(strings.Join(safe, "\t"), "\t"))
}

func (t *table) flush() error { return t.w.Flush() }

const progressInterval = time.Second

// eachSecond returns a function that prints progress to stderr, at most once a second.
func (c *cli) eachSecond() func(format string, args ...any) {
	told := time.Now()
	return func(format string, args ...any) {
		if time.Since(told) > progressInterval {
			told = time.Now()
			fmt.Fprintf(c.Stderr, format, args...)
		}
	}
}

const timeLayout = "2006-01-02 15:04:05.000Z"

// shown formats a time in UTC, and returns a dash for the zero time.
func shown(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(timeLayout)
}

// counted formats a number with its noun, such as "1 event" or "2 events".
func counted(n int, what string) string { return noun.Counted(n, what) }
