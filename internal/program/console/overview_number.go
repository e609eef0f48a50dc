package console

import (
	"fmt"
	"slices"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
)

// The chart of a key number has one bar for each hour, the current hour on the right. The sizes
// are in units of the SVG viewBox.
const (
	chartStep   = 10
	chartBar    = 8
	chartHeight = 48
)

// keyNumber is a rate at the top of the overview.
type keyNumber struct {
	Name   string
	Value  string // with its unit; a dash without data
	Of     string // total and period of the rate
	Usual  string // the usual value at this time of the day; empty if it is unknown
	Bars   []bar  // empty without data
	Width  int    // width of the chart
	Height int
	Top    string // the value at the top of the axis
	Title  string // describes the chart
}

// percent formats a rate as a percentage: 0.018 is "1.8 %".
func percent(rate float64) string { return fmt.Sprintf("%.1f %%", 100*rate) }

// numberOf returns the key number for a share. The text in `what` names the counted things, such as
// events.
func numberOf(name, what string, s doctor.Share) keyNumber {
	n := keyNumber{Name: name, Value: "–", Of: fmt.Sprintf("of %d %s in the last hour", s.All, what), Width: len(s.Hours) * chartStep, Height: chartHeight}
	if rate, some := s.Rate(); some {
		n.Value = percent(rate)
	}
	if s.Usual != nil {
		n.Usual = "usually " + percent(*s.Usual)
	}
	var known []float64
	for _, share := range s.Hours {
		if share != nil {
			known = append(known, *share)
		}
	}
	if known == nil {
		return n
	}
	// The axis ends at 1 % or higher, so that a rate of a few per mille does not fill the chart.
	highest := max(slices.Max(known), 0.01)
	n.Top = percent(highest)
	n.Title = fmt.Sprintf("%s by hour over the last %d hours, the current hour on the right: highest %s, lowest %s", name, len(s.Hours), percent(slices.Max(known)), percent(slices.Min(known)))
	for i, share := range s.Hours {
		if share != nil {
			height := max(int(*share/highest*chartHeight), 1)
			n.Bars = append(n.Bars, bar{X: i*chartStep + (chartStep-chartBar)/2, Y: chartHeight - height, Height: height})
		}
	}
	return n
}
