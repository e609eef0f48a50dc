package cli

import (
	"bufio"
	"bytes"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/program/config"
)

// limitMemory makes the garbage collector respect this process's memory limit, and warns if
// delivery bodies alone could fill more than half of it. The limit is soft: it never makes an
// allocation fail. GOMEMLIMIT, which the runtime has already read, takes precedence over the
// system's limit. limitMemory returns the controller of collections, or nil if GOGC is set.
func limitMemory(cfg *config.Config, env config.LookupEnv, logger *slog.Logger) (c *collections) {
	limit, from := memoryLimit(os.DirFS("/"), kernelMemory)
	if _, given := env("GOMEMLIMIT"); given {
		limit, from = debug.SetMemoryLimit(-1), "GOMEMLIMIT"
	} else if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	if _, given := env("GOGC"); !given {
		c = spareCollections(limit)
	}
	if limit <= 0 {
		return c // no limit is known, for example on macOS without GOMEMLIMIT
	}
	logger.Info("memory limit of the garbage collector", slog.Int64(logkey.Limit, limit), slog.String(logkey.Reason, from))
	if buffered := int64(cfg.Gateway.MaxBuffered); buffered > limit/2 {
		logger.Warn("gateway.max_buffered is more than half of the memory limit: large deliveries can use up the memory of this process",
			slog.Int64(logkey.Limit, limit), slog.Int64(logkey.Bytes, buffered))
	}
	return c
}

// memoryLimit derives a soft limit from the system files below root. The limit is nine tenths of
// the control group's limit, which leaves room for memory that the runtime does not count. Without
// a control group's limit, it is three quarters of the machine's memory, which other processes use
// too. If the machine's memory is not known either, the limit is 0. The systemd unit in the
// packages hides /proc/meminfo (ProcSubset=pid): memoryLimit then calls kernel, which returns the
// machine's memory, or 0 if it is unknown. from names the source of the limit, for the log.
func memoryLimit(root fs.FS, kernel func() int64) (limit int64, from string) {
	if group := groupLimit(root); group < math.MaxInt64 {
		return group / 10 * 9, "control_group"
	}
	total := machineMemory(root)
	if total <= 0 {
		total = kernel()
	}
	if total > 0 {
		return total / 4 * 3, "machine"
	}
	return 0, ""
}

// groupLimit returns the lowest memory limit of this process's control group and the group's
// parents, or MaxInt64 if there is no limit. It reads both versions of control groups.
func groupLimit(root fs.FS) int64 {
	lowest := int64(math.MaxInt64)
	membership, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(membership)) {
		// hierarchy:controllers:path
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max"
		if fields[0] != "0" {
			if fields[1] != "memory" {
				continue
			}
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		// A container may see its host's path, which is not mounted in the container. Only existing
		// directories count.
		for group := path.Join("/", fields[2]); ; group = path.Dir(group) {
			lowest = min(lowest, readLimit(root, path.Join(mount, group, file)))
			if group == "/" {
				break
			}
		}
	}
	return lowest
}

// unlimited is the lowest number that means no limit: a version 1 group without a limit reports a
// number near the largest possible.
const unlimited = 1 << 60

func readLimit(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return math.MaxInt64
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // the file may also contain "max"
	if err != nil || limit <= 0 || limit >= unlimited {
		return math.MaxInt64
	}
	return limit
}

// machineMemory returns MemTotal in bytes, or 0 if it is unknown.
func machineMemory(root fs.FS) int64 {
	text, _ := fs.ReadFile(root, "proc/meminfo")
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "MemTotal:" {
			kibibytes, _ := strconv.ParseInt(fields[1], 10, 64)
			return kibibytes << 10
		}
	}
	return 0
}
