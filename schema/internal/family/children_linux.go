package family

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// children returns the processes whose parent is pid. Each Postgres process is a session
// leader, so no process group contains them all.
func children(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []int
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if _, parent := procStat(child); parent == pid {
			found = append(found, child)
		}
	}
	return found
}

// procStat returns a process's state letter and parent, or zero values if the process does not
// exist.
func procStat(pid int) (state string, parent int) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	// The process name is in parentheses, and may itself contain any character.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

// ended reports whether the process pid is a zombie or does not exist.
func ended(pid int) bool {
	state, _ := procStat(pid)
	return state == "Z" || state == "X" || state == ""
}

// CommandOf returns a process's command line, with words separated by blanks.
func CommandOf(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(line), "\x00", " ")
}
