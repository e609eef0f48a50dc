//go:build linux || darwin || freebsd

package embedded

import (
	"maps"
	"slices"
	"strconv"
)

// serverArgs returns the server's command line, which contains all settings, so that a copied
// cluster needs no edited file.
func serverArgs(dir *runDir, port int, opts Options) []string {
	settings := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"port":                    strconv.Itoa(port),
		"unix_socket_directories": "",
		"max_connections":         "200",
		"jit":                     "off",
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"log_min_messages":        "warning",
		"log_lock_waits":          "on",
		"synchronous_commit":      "on",
		"fsync":                   "off",
		"full_page_writes":        "off",
		// An automatic restart would hide a crash from the test that caused it.
		"restart_after_crash": "off",
	}
	if opts.Durable {
		settings["fsync"] = "on"
		settings["full_page_writes"] = "on"
	}
	if dir.keep {
		settings["restart_after_crash"] = "on"
	}
	maps.Copy(settings, opts.Settings)

	args := []string{"-D", dir.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}
