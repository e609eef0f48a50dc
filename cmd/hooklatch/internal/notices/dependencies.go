package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// platforms are the platforms of the released binaries.
var platforms = []string{
	"darwin/amd64", "darwin/arm64", "freebsd/amd64", "freebsd/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64",
}

// dependency is a module whose packages the program contains.
type dependency struct {
	name    string // path and version
	folders []string
}

// dependencies lists the Go standard library, followed by the modules, sorted by name, that a
// package needs on at least one of the platforms. The folders of a module are the directories of
// its packages in the program, and their parents up to the module's own directory.
func dependencies(dir, pkg string) ([]dependency, error) {
	ctx := context.Background()
	folders := map[string]map[string]bool{}
	for _, platform := range platforms {
		system, processor, _ := strings.Cut(platform, "/")
		list := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", pkg)
		list.Dir, list.Stderr = dir, os.Stderr
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list the packages for %s: %w", platform, err)
		}
		for line := range strings.Lines(string(out)) {
			fields := strings.Split(strings.TrimSpace(line), "\t")
			if len(fields) != 3 {
				continue // a package of the standard library, or one of ours
			}
			if folders[fields[0]] == nil {
				folders[fields[0]] = map[string]bool{}
			}
			for at := fields[2]; strings.HasPrefix(at, fields[1]); at = filepath.Dir(at) {
				folders[fields[0]][at] = true
			}
		}
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find the Go distribution: %w", err)
	}
	found := []dependency{{name: "the Go standard library", folders: []string{strings.TrimSpace(string(goroot))}}}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		found = append(found, dependency{name, slices.Sorted(maps.Keys(folders[name]))})
	}
	return found, nil
}

// legal matches the names of the licence, notice and patent files that belong beside a binary.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// files returns the licences and notices in the folders of a dependency. It fails if there are
// none.
func (d dependency) files() ([]string, error) {
	var found []string
	for _, folder := range d.folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Type().IsRegular() && legal.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
				found = append(found, filepath.Join(folder, e.Name()))
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no licence in %s", d.name, strings.Join(d.folders, ", "))
	}
	return found, nil
}
