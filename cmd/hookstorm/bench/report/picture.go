package report

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
)

// bar shows the median of values, and a line from the smallest to the largest.
type bar struct {
	title  string
	values []float64
}

// The dimensions of the picture, in pixels.
const (
	pictureWidth = 760
	titleWidth   = 270
	barHeight    = 20
	barPitch     = 30
	panelHead    = 40
	numberWidth  = 150
)

// style keeps the picture readable on light and dark backgrounds, because its own background is
// transparent.
const style = `text{font:13px system-ui,sans-serif;fill:#57606a}
.head{font-weight:600}
.bar{fill:#3b82c4}
.spread{stroke:#57606a;stroke-width:1.5}
@media(prefers-color-scheme:dark){text{fill:#b1bac4}.bar{fill:#58a6ff}.spread{stroke:#b1bac4}}`

// Picture writes bars as SVG: the rate of each subject, and the CPU time per event.
func (r *Report) Picture(w io.Writer) error {
	var body strings.Builder
	y := 0
	panel := func(title string, bars []bar) {
		bars = slices.DeleteFunc(bars, func(b bar) bool { return len(b.values) == 0 })
		if len(bars) == 0 {
			return
		}
		y += panelHead
		fmt.Fprintf(&body, `<text class="head" x="0" y="%d">%s</text>`+"\n", y-14, html.EscapeString(title))
		draw(&body, y, bars)
		y += len(bars) * barPitch
	}
	rate := func(title, section, who string) bar { return bar{title, r.values(section, who, Rate)} }
	panel("Events in a second (median, line: least to most of all rounds)", []bar{
		rate("limit: verify and answer", SectionAccept, Limit),
		rate("naive accept, River as it migrates", SectionAccept, Naive),
		rate("naive accept, without GIN indexes", SectionAccept, NaiveWithoutGIN),
		rate("Hooklatch accept", SectionAccept, Hooklatch),
		rate("Hooklatch full lifecycle", SectionLife, WholeLife),
		rate("Hooklatch backlog, drained", SectionBacklog, WholeLife),
	})
	cpu := func(title, section, who string, quantities ...Quantity) bar {
		return bar{title, r.sum(section, who, quantities...)}
	}
	panel("CPU of an event, Postgres included, in microseconds", []bar{
		cpu("limit: verify and answer", SectionAccept, Limit, CPUServer),
		cpu("naive accept, River as it migrates", SectionAccept, Naive, CPUServer, CPUPostgres),
		cpu("naive accept, without GIN indexes", SectionAccept, NaiveWithoutGIN, CPUServer, CPUPostgres),
		cpu("Hooklatch accept", SectionAccept, Hooklatch, CPUServer, CPUPostgres),
		cpu("Hooklatch full lifecycle", SectionLife, WholeLife, CPUServer, CPUWorker, CPUPostgres),
	})
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="Rates and costs">
<style>%s</style>
%s</svg>
`, pictureWidth, y+10, pictureWidth, y+10, style, body.String())
	return err
}

// draw draws bars below one another. The largest value fills the available width.
func draw(body *strings.Builder, top int, bars []bar) {
	var longest float64
	for _, b := range bars {
		longest = max(longest, slices.Max(b.values))
	}
	if longest == 0 {
		return
	}
	scale := float64(pictureWidth-titleWidth-numberWidth) / longest
	for i, b := range bars {
		y := top + i*barPitch
		length := median(b.values) * scale
		from, to := titleWidth+slices.Min(b.values)*scale, titleWidth+slices.Max(b.values)*scale
		middle := float64(y) + float64(barHeight)/2
		fmt.Fprintf(body, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", titleWidth-8, y+15, html.EscapeString(b.title))
		fmt.Fprintf(body, `<rect class="bar" x="%d" y="%d" width="%.1f" height="%d" rx="2"/>`+"\n", titleWidth, y, length, barHeight)
		fmt.Fprintf(body, `<line class="spread" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", from, middle, to, middle)
		fmt.Fprintf(body, `<text x="%.1f" y="%d">%s</text>`+"\n", max(to, titleWidth+length)+8, y+15, number(median(b.values)))
	}
}
