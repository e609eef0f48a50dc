//go:build darwin || freebsd

package family

import (
	"os/exec"
	"strconv"
	"strings"
)

// children returns the processes whose parent is pid. Each Postgres process is a session
// leader, so no process group contains them all.
func children(pid int) []int {
	var found []int
	for line := range strings.Lines(ps("-A", "-o", "pid=,ppid=")) {
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		if child, err := strconv.Atoi(fields[0]); err == nil {
			found = append(found, child)
		}
	}
	return found
}

// ended reports whether the process pid is a zombie or does not exist.
func ended(pid int) bool {
	state := strings.TrimSpace(ps("-o", "stat=", "-p", strconv.Itoa(pid)))
	return state == "" || strings.HasPrefix(state, "Z")
}

// CommandOf returns a process's command line, with words separated by blanks.
func CommandOf(pid int) string {
	return ps("-ww", "-o", "command=", "-p", strconv.Itoa(pid))
}

func ps(args ...string) string {
	out, err := exec.Command("ps", args...).Output()
	if err != nil {
		return ""
	}
	return string(out)
}
