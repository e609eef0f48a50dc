package cli

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/config"
)

func TestMemoryLimitComesFromWhatTheSystemAllows(t *testing.T) {
	t.Parallel()
	const machine = "MemTotal:        4194304 kB\nMemFree:          123456 kB\n" // 4 GiB
	for _, test := range []struct {
		name  string
		files map[string]string
		want  int64
		from  string

		kernel int64 // machine's memory as the kernel reports it
	}{
		{"nothing is known", nil, 0, "", 0},
		{"under the unit of the packages", map[string]string{"proc/self/cgroup": "0::/system.slice/hooklatch.service\n"}, 3 << 30, "machine", 4 << 30},
		{"no control group", map[string]string{"proc/meminfo": machine}, 3 << 30, "machine", 1 << 30},
		{"control group without a limit", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/app\n", "sys/fs/cgroup/app/memory.max": "max\n",
		}, 3 << 30, "machine", 1 << 30},
		{"in a container", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000000000\n",
		}, 900_000_000, "control_group", 1 << 30},
		{"the lowest of those around", map[string]string{
			"proc/self/cgroup": "0::/system.slice/hooklatch.service\n", "sys/fs/cgroup/system.slice/hooklatch.service/memory.max": "2000000000\n",
			"sys/fs/cgroup/system.slice/memory.max": "1000000000\n",
		}, 900_000_000, "control_group", 1 << 30},
		{"path of the host", map[string]string{
			"proc/self/cgroup": "0::/../../docker/0123\n", "sys/fs/cgroup/memory.max": "1000000000\n",
		}, 900_000_000, "control_group", 1 << 30},
		{"version 1", map[string]string{
			"proc/self/cgroup":                                     "4:cpu,cpuacct:/docker/01\n3:memory:/docker/01\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":           "9223372036854771712\n",
			"sys/fs/cgroup/memory/docker/01/memory.max":            "1\n",
			"sys/fs/cgroup/memory/docker/01/memory.limit_in_bytes": "1000000000\n",
		}, 900_000_000, "control_group", 1 << 30},
		{"version 1 without a limit", map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "3:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 3 << 30, "machine", 1 << 30},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := fstest.MapFS{}
			for name, text := range test.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			limit, from := memoryLimit(root, func() int64 { return test.kernel })
			require.Equal(t, test.want, limit)
			require.Equal(t, test.from, from)
		})
	}
}

func TestBodiesThatCouldFillTheMemoryAreWarnedOf(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	cfg := config.Default()
	env := func(string) (string, bool) { return "off", true } // GOMEMLIMIT and GOGC are set, so the runtime's settings are kept
	limitMemory(&cfg, env, slog.New(slog.NewTextHandler(&log, nil)))
	require.Contains(t, log.String(), "reason=GOMEMLIMIT")
	require.NotContains(t, log.String(), "level=WARN")
	cfg.Gateway.MaxBuffered = 1 << 62
	limitMemory(&cfg, env, slog.New(slog.NewTextHandler(&log, nil)))
	require.Contains(t, log.String(), "level=WARN")
}
