package meter

import (
	"os"
	"strings"
	"time"
)

// CPUTime is what a machine's processors have done so far.
type CPUTime struct {
	all    time.Duration
	stolen time.Duration // they were ready, and the host let others run
}

// The fields of the first line of /proc/stat that are added up, and the one of them
// that the host gave to others: proc(5). The guests behind them are in the others.
const (
	fieldsOfCPU = 8
	fieldStolen = 7
)

// Host is what this machine's processors have done so far; nothing where /proc does
// not say.
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

// StolenSince is the share of the time since before that the host gave to others.
func (t CPUTime) StolenSince(before CPUTime) float64 {
	if t.all <= before.all {
		return 0
	}
	return float64(t.stolen-before.stolen) / float64(t.all-before.all)
}
