package meter

import (
	"os"
	"strings"
	"time"
)

// CPUTime is the time of all processors of a machine since it booted, busy or idle.
type CPUTime struct {
	all    time.Duration
	stolen time.Duration // the processors were ready, but the host ran other guests
}

// Layout of the first line of /proc/stat according to proc(5). The constants are the number of
// fields to add up, and the index of the time that the host gave to other guests. The remaining
// fields are guest times, which earlier fields already include.
const (
	fieldsOfCPU = 8
	fieldStolen = 7
)

// Host returns the processor time of this machine so far, or zero if /proc does not have it.
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

// StolenSince returns the share of the CPU time that the host gave to other guests since an earlier
// measurement.
func (t CPUTime) StolenSince(before CPUTime) float64 {
	if t.all <= before.all {
		return 0
	}
	return float64(t.stolen-before.stolen) / float64(t.all-before.all)
}
