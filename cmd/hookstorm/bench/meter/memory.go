package meter

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory returns the current and the peak memory of a process in bytes, or 0 if unknown.
func Memory(pid int) (now, peak int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmRSS":
			now = kilobytes(value)
		case "VmHWM":
			peak = kilobytes(value)
		}
	}
	return now, peak
}

// kilobytes returns the number of bytes in a value in the format of /proc: "   1234 kB".
func kilobytes(value string) int64 {
	fields := strings.Fields(value)
	if len(fields) != 2 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64) // a number, according to proc(5)
	return n << 10
}
