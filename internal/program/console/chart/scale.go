package chart

import (
	"math"
	"strconv"
	"time"
)

// Scale is a kind of vertical axis.
type Scale string

const (
	// Linear begins at 0 and ends at a round number that is not below the highest value.
	Linear Scale = ""
	// Durations is logarithmic, from 5 milliseconds to Longest.
	Durations Scale = "durations"
)

// Longest is the highest value on the scale of Durations, in seconds. It represents every duration
// above 30 seconds.
const Longest = 60.0

const shortest = 0.005

// scaled is a vertical axis: its labelled values, and the share of its height at which a value is
// drawn.
type scaled struct {
	ticks []float64
	share func(value float64) float64
	label func(value float64) string
}

// upTo returns the axis for values up to highest.
func (s Scale) upTo(highest float64) scaled {
	if s == Durations {
		return scaled{
			ticks: []float64{0.01, 0.1, 1, 10},
			share: func(value float64) float64 {
				return math.Log(max(value, shortest)/shortest) / math.Log(Longest/shortest)
			},
			label: Duration,
		}
	}
	step := round(highest)
	end := step * max(1, math.Ceil(highest/step))
	axis := scaled{
		share: func(value float64) float64 { return value / end },
		label: Brief,
	}
	for tick := 0.0; tick <= end; tick += step {
		axis.ticks = append(axis.ticks, tick)
	}
	return axis
}

// round returns the distance between ticks: 1, 2 or 5 times a power of ten, so that an axis has at
// most five ticks.
func round(highest float64) float64 {
	for power := 1.0; ; power *= 10 {
		for _, digit := range []float64{1, 2, 5} {
			if step := digit * power; 4*step >= highest {
				return step
			}
		}
	}
}

// Brief returns a number in a few characters, such as 12.5k.
func Brief(value float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if value >= unit.size {
			return strconv.FormatFloat(math.Round(10*value/unit.size)/10, 'f', -1, 64) + unit.name
		}
	}
	return strconv.FormatFloat(math.Round(10*value)/10, 'f', -1, 64)
}

// Duration returns a number of seconds with its unit, such as 100 ms.
func Duration(seconds float64) string {
	switch {
	case seconds >= Longest:
		return "more than 30 s"
	case seconds >= 1:
		return strconv.FormatFloat(seconds, 'f', -1, 64) + " s"
	default:
		return strconv.FormatFloat(float64(time.Duration(seconds*float64(time.Second)).Milliseconds()), 'f', -1, 64) + " ms"
	}
}
