package whatif

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// LeftOut describes the events that were not compared, with one reason per line.
func (r *Report) LeftOut() []string {
	var lines []string
	for _, left := range []struct {
		n   int
		why string
	}{
		{r.Bodiless, "content is no longer stored as received"},
		{r.Unclear, "the condition of the filter failed"},
		{r.Undecided, r.WhyUndecided},
	} {
		if left.n > 0 {
			lines = append(lines, fmt.Sprintf("%d left out: %s", left.n, left.why))
		}
	}
	return lines
}

// Counted returns the number of effects, with the number of errors that are the same with the old
// configuration.
func (g Group) Counted() string {
	if g.Known > 0 {
		return fmt.Sprintf("%d (%d before too)", g.Count, g.Known)
	}
	return strconv.Itoa(g.Count)
}

// DiffersIn lists the properties that differ.
func (g Group) DiffersIn() string { return strings.Join(g.Fields, ", ") }

// Lines describes an effect as rendered.
func (e *Effect) Lines() []string {
	first := fmt.Sprintf("%s -> %s, key %s", e.Route, e.Destination, e.Key)
	if e.Order != "" {
		first += ", order " + e.Order
	}
	if e.Latest != "" {
		first += ", latest of " + e.Latest
	}
	lines := []string{first}
	if e.Parked != "" {
		lines = append(lines, "parked: "+e.Parked)
	}
	if e.Refetch {
		return append(lines, "the request is rendered after the refetch")
	}
	if request := strings.TrimSpace(e.Method + " " + e.URL); request != "" {
		lines = append(lines, request)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		for _, value := range e.Headers[name] {
			lines = append(lines, name+": "+value)
		}
	}
	if e.ContentType != "" {
		lines = append(lines, "Content-Type: "+e.ContentType)
	}
	switch {
	case e.BodyBytes > 0 && e.Body == "":
		lines = append(lines, fmt.Sprintf("(%d bytes that are not text)", e.BodyBytes))
	case e.Cut():
		lines = append(lines, fmt.Sprintf("%s... (%d bytes)", e.Body, e.BodyBytes))
	case e.Body != "":
		lines = append(lines, e.Body)
	}
	return lines
}
