// Command notices writes cmd/hooklatch/licenses.txt: the licences of everything that the released
// binaries contain. Most of these licences require that their text accompanies a binary.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run .

// Paths relative to this package's directory.
const (
	root   = "../../../.."
	assets = root + "/internal/program/console/static/LICENSES.txt"
	output = "../../licenses.txt"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func write() error {
	found, err := dependencies(root, "./cmd/hooklatch")
	if err != nil {
		return err
	}
	texts, err := textsOf(found)
	if err != nil {
		return err
	}
	own, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return err
	}
	console, err := os.ReadFile(assets)
	if err != nil {
		return err
	}
	return os.WriteFile(output, render(own, console, texts), 0o644) //nolint:gosec // every user may read it
}
