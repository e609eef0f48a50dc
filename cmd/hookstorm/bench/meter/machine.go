package meter

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes this machine in one line.
func Machine() string {
	parts := []string{fmt.Sprintf("%d CPUs", runtime.NumCPU())}
	if model := valueIn("/proc/cpuinfo", "model name"); model != "" {
		parts = append(parts, model)
	}
	if total := kilobytes(valueIn("/proc/meminfo", "MemTotal")); total > 0 {
		parts = append(parts, fmt.Sprintf("%.0f GB of memory", float64(total)/(1<<30)))
	}
	system := runtime.GOOS + "/" + runtime.GOARCH
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		system += " " + strings.TrimSpace(string(release))
	}
	return strings.Join(append(parts, system, runtime.Version()), ", ")
}

// valueIn returns the value in the file's first line with the given name, or "" if no line has that
// name.
func valueIn(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
