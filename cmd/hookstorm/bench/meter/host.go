package meter

import (
	"os"
	"strings"
	"time"
)

// CPUTime is the time that a machine's processors have spent so far.
type CPUTime struct {
	all    time.Duration
	stolen time.Duration // they were ready, but the host let others run
}

// The number of fields in the first line of /proc/stat to add up, and the field of time that
// the host gave to others: proc(5). The guest fields behind them are included in the others.
const (
	fieldsOfCPU = 8
	fieldStolen = 7
)

// Host returns the time of this machine's processors so far, or zero if /proc does not have
// it.
func Host() CPUTime {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CPUTime{}
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(strings.TrimPrefix(line, "cpu"))
	if len(fields) < fieldsOfCPU {
		return CPUTime{}
	}
	return CPUTime{all: ticks(fields[:fieldsOfCPU]), stolen: ticks(fields[fieldStolen : fieldStolen+1])}
}

// StolenSince returns the share of the time since before that the host gave to others.
func (t CPUTime) StolenSince(before CPUTime) float64 {
	if t.all <= before.all {
		return 0
	}
	return float64(t.stolen-before.stolen) / float64(t.all-before.all)
}
