// Command reference generates the configuration file's reference from the structs that the file is
// decoded into: docs/configuration.md, and docs/config.schema.json for editors.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run .

// root is the path from this directory to the repository.
const root = "../../../../.."

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func write() error {
	files, err := generate()
	if err != nil {
		return err
	}
	for path, text := range files {
		if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // every user may read the page
			return err
		}
	}
	return nil
}

// generate returns the files by path.
func generate() (map[string][]byte, error) {
	docs, err := readComments(root)
	if err != nil {
		return nil, err
	}
	schema, err := json.MarshalIndent(schemaOf(docs), "", "  ")
	if err != nil {
		return nil, err
	}
	page, err := pageOf(docs)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		filepath.Join(root, "docs", "config.schema.json"): append(schema, '\n'),
		filepath.Join(root, "docs", "configuration.md"):   page,
	}, nil
}
