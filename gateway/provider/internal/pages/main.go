// Command pages writes docs/providers from what the providers say of themselves.
package main

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
)

//go:generate go run .

// directory of the pages, from that of this package.
const directory = "../../../../docs/providers"

//go:embed *.tmpl
var templates embed.FS

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

func write() error {
	rendered, err := render()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(directory); err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil { //nolint:gosec // pages, for everyone
		return err
	}
	for name, text := range rendered {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644); err != nil { //nolint:gosec // pages, for everyone
			return err
		}
	}
	return nil
}

// render makes all pages, by the name of the file.
func render() (map[string]string, error) {
	functions := template.FuncMap{
		"add":  func(a, b int) int { return a + b },
		"join": func(names []string) string { return strings.ReplaceAll(strings.Join(names, ", "), "_", " ") },
		"cell": func(s string) string { return strings.ReplaceAll(s, "|", `\|`) },
	}
	parsed, err := template.New("").Funcs(functions).ParseFS(templates, "*.tmpl")
	if err != nil {
		return nil, err
	}
	ran, err := ranSDKs()
	if err != nil {
		return nil, err
	}
	rendered := map[string]string{}
	execute := func(name, from string, data any) error {
		var text bytes.Buffer
		err := parsed.ExecuteTemplate(&text, from, data)
		rendered[name] = text.String()
		return err
	}
	var all []page
	for _, name := range catalog.Names() {
		p, err := newPage(name, ran[name])
		if err != nil {
			return nil, err
		}
		all = append(all, p)
		if err := execute(name+".md", "provider.md.tmpl", p); err != nil {
			return nil, err
		}
	}
	return rendered, execute("README.md", "README.md.tmpl", all)
}
