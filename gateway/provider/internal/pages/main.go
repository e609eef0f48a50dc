// Command pages writes docs/providers from the provider declarations.
package main

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
)

//go:generate go run .

// directory is the directory of the pages, relative to this package's directory.
const directory = "../../../../docs/providers"

//go:embed *.tmpl
var templates embed.FS

// others holds the handwritten pages about senders without a named provider.
//
//go:embed others/*.md.tmpl
var others embed.FS

const madeFromOthers = "<!-- Copied from gateway/provider/internal/pages/others by `go generate ./gateway/provider/...`. Do not edit. -->\n\n"

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
	if err := os.MkdirAll(directory, 0o755); err != nil { //nolint:gosec // every user may read the pages
		return err
	}
	for name, text := range rendered {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644); err != nil { //nolint:gosec // every user may read the pages
			return err
		}
	}
	return nil
}

// render returns the text of each page, by file name.
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
	generic, err := copyOthers(rendered)
	if err != nil {
		return nil, err
	}
	return rendered, execute("README.md", "README.md.tmpl", map[string]any{"All": all, "Others": generic})
}

// other is the page about a sender that a generic provider serves.
type other struct{ Name, Title string }

// copyOthers adds the handwritten pages to rendered, and lists them.
func copyOthers(rendered map[string]string) ([]other, error) {
	files, err := fs.Glob(others, "others/*.md.tmpl")
	if err != nil {
		return nil, err
	}
	var list []other
	for _, file := range files {
		text, err := others.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(path.Base(file), ".tmpl")
		if rendered[name] != "" {
			return nil, fmt.Errorf("%s: a provider of that name exists", file)
		}
		rendered[name] = madeFromOthers + string(text)
		title, _, _ := strings.Cut(string(text), "\n")
		list = append(list, other{Name: strings.TrimSuffix(name, ".md"), Title: strings.TrimPrefix(title, "# ")})
	}
	return list, nil
}
