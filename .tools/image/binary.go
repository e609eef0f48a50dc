package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// processors contains the GOARCH values for which the image is built.
var processors = []string{"amd64", "arm64"}

// binary is a release's binary for one processor. Its build information contains the commit.
type binary struct {
	path      string
	processor string
	revision  string
	committed time.Time
}

// findBinary finds the binary for a processor. It refuses a binary for another processor or of
// another version, and a binary that was built with uncommitted changes. It also refuses a binary
// that was built with cgo, which needs files that the image lacks.
func findBinary(dist, processor, version string) (binary, error) {
	pattern := filepath.Join(dist, "hooklatch_linux_"+processor+"*", "hooklatch")
	found, err := filepath.Glob(pattern)
	if err != nil {
		return binary{}, err
	}
	if len(found) != 1 {
		return binary{}, fmt.Errorf("%s matches %d files, want 1: build the release first", pattern, len(found))
	}
	b := binary{path: found[0], processor: processor}
	info, err := buildinfo.ReadFile(b.path)
	if err != nil {
		return binary{}, fmt.Errorf("read the build information: %w", err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	for key, want := range map[string]string{"GOOS": "linux", "GOARCH": processor, "CGO_ENABLED": "0"} {
		if settings[key] != want {
			return binary{}, fmt.Errorf("%s was built with %s=%s, want %s", b.path, key, settings[key], want)
		}
	}
	if settings["vcs.modified"] == "true" {
		return binary{}, fmt.Errorf("%s was built with uncommitted changes: commit them, and build it again", b.path)
	}
	// Without a tag, Go records a pseudo-version, which no release has. A build without version
	// control information has "(devel)", and is refused below.
	if info.Main.Version != version && !strings.HasPrefix(info.Main.Version, "(") {
		return binary{}, fmt.Errorf("%s is version %s, want %s: build it again", b.path, info.Main.Version, version)
	}
	b.revision = settings["vcs.revision"]
	b.committed, err = time.Parse(time.RFC3339, settings["vcs.time"])
	if b.revision == "" || err != nil {
		return binary{}, errors.New(b.path + " has no commit in its build information: build it with -buildvcs=true")
	}
	return b, nil
}
