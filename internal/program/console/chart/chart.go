// Package chart draws numbers over time as SVG: readable without scripts, without colours, and by a
// screen reader. A page renders a Drawing with its template.
package chart

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// The size of a drawing, and the borders of its plot area.
const (
	width, height = 420, 180
	left, right   = 52, width - 8
	top, bottom   = 20, height - 24
)

// Chart is a set of lines over the same periods of time.
type Chart struct {
	ID    string // unique in the page
	Title string
	Unit  string
	Since time.Time     // beginning of the first period, in the zone of the labels
	Step  time.Duration // length of a period
	Scale Scale
	Lines []Line
	Gaps  []bool // one for each period; true if its values are unknown
	Marks []Mark
}

// Line is one line of a Chart. Lines differ in colour and in pattern.
type Line struct {
	Name    string
	Summary string // the numbers of the line in words
	Class   string // class of the line's colour in the style sheet
	Dash    string // lengths of dashes and gaps; empty for a solid line
	Values  []*float64
}

// Mark marks a period in which something changed.
type Mark struct {
	Place  int // index of the period
	Number int // number of the mark in the page's list
	Title  string
}

// Drawing is a Chart with all positions, for a template.
type Drawing struct {
	Chart

	Description string
	Area        Area
	Y, X        []Tick
	Shades      []Shade
	Drawn       []Stroke
	Flags       []Flag
}

// Area has the size of a drawing, and the borders of its plot area.
type Area struct{ Width, Height, Left, Right, Top, Bottom int }

// Tall returns the height of the plot area.
func (a Area) Tall() int { return a.Bottom - a.Top }

// Below returns the baseline of the horizontal axis labels.
func (a Area) Below() int { return a.Bottom + 16 }

// Tick is a label of an axis.
type Tick struct {
	At    string
	Label string
}

// Shade covers periods without known values.
type Shade struct{ X, Width string }

// Stroke is the path of a line.
type Stroke struct{ Class, Dash, Path string }

// Flag is the drawing of a Mark. Number is 0 if there is no room for a number.
type Flag struct {
	X      string
	Number int
	Title  string
}

// Draw computes the positions of a chart.
func (c Chart) Draw() Drawing {
	d := Drawing{Chart: c, Area: Area{width, height, left, right, top, bottom}}
	scale := c.Scale.upTo(c.highest())
	for _, tick := range scale.ticks {
		d.Y = append(d.Y, Tick{place(above(scale, tick)), scale.label(tick)})
	}
	step := c.step()
	for i, label := range c.labels() {
		if label != "" {
			d.X = append(d.X, Tick{place(left + float64(i)*step), label})
		}
	}
	for begin := 0; begin < len(c.Gaps); begin++ {
		end := begin
		for end < len(c.Gaps) && c.Gaps[end] {
			end++
		}
		if end > begin {
			d.Shades = append(d.Shades, Shade{place(left + float64(begin)*step), place(float64(end-begin) * step)})
			begin = end
		}
	}
	said := make([]string, 0, len(c.Lines))
	for _, line := range c.Lines {
		path := Steps(line.Values, left, step, func(value float64) float64 { return above(scale, value) })
		d.Drawn = append(d.Drawn, Stroke{line.Class, line.Dash, path})
		said = append(said, line.Name+": "+line.Summary)
	}
	d.Description = strings.Join(said, ". ") + "."
	room := math.Inf(-1)
	for _, mark := range c.Marks {
		x := left + (float64(mark.Place)+.5)*step
		flag := Flag{X: place(x), Number: mark.Number, Title: mark.Title}
		if x < room {
			flag.Number = 0
		} else {
			room = x + 16
		}
		d.Flags = append(d.Flags, flag)
	}
	return d
}

// Steps returns an SVG path through values: a horizontal line of the given length for each value,
// at the height that y returns. The line is broken where a value is nil.
func Steps(values []*float64, x, length float64, y func(value float64) float64) string {
	var path strings.Builder
	drawn := false
	for i, value := range values {
		if value == nil {
			drawn = false
			continue
		}
		move := "M"
		if drawn {
			move = "L"
		}
		fmt.Fprintf(&path, "%s%.1f %.1fh%.1f", move, x+float64(i)*length, y(*value), length)
		drawn = true
	}
	return path.String()
}

func (c Chart) step() float64 { return (right - left) / float64(max(len(c.Gaps), 1)) }

func (c Chart) highest() (highest float64) {
	for _, line := range c.Lines {
		for _, value := range line.Values {
			if value != nil {
				highest = max(highest, *value)
			}
		}
	}
	return highest
}

// labels returns one label for each period, most of them empty. Depending on the chart's length, a
// label marks the beginning of a quarter of an hour, of a quarter of a day, or of a day.
func (c Chart) labels() []string {
	unit, layout := func(t time.Time) int { return t.Minute() / 15 }, "15:04"
	switch all := time.Duration(len(c.Gaps)) * c.Step; {
	case all > 48*time.Hour:
		unit, layout = time.Time.YearDay, "Mon 2"
	case all > 2*time.Hour:
		unit = func(t time.Time) int { return t.Hour() / 6 }
	}
	list := make([]string, len(c.Gaps))
	for i := range list {
		at := c.Since.Add(time.Duration(i) * c.Step)
		if unit(at) != unit(at.Add(-c.Step)) {
			list[i] = at.Format(layout)
		}
	}
	return list
}

// above returns the position of a value on the vertical axis.
func above(s scaled, value float64) float64 {
	return bottom - min(max(s.share(value), 0), 1)*(bottom-top)
}

func place(at float64) string { return fmt.Sprintf("%.1f", at) }
