// Package asset serves the styles, scripts, fonts and icons of the console.
package asset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

// Assets are files with a common hash in their URLs, so that browsers can cache them until a file
// changes.
type Assets struct {
	files map[string][]byte
	icons map[string]template.HTML
	hash  string
}

// Read reads the files below static/. Icons in icon/ are not served but embedded in pages.
func Read(files fs.FS) (Assets, error) {
	a := Assets{files: map[string][]byte{}, icons: map[string]template.HTML{}}
	sum := sha256.New()
	err := fs.WalkDir(files, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(content))
		sum.Write(content)
		name = strings.TrimPrefix(name, "static/")
		if icon, is := strings.CutPrefix(name, "icon/"); is {
			a.icons[strings.TrimSuffix(icon, ".svg")] = iconOf(content)
		} else {
			a.files[name] = content
		}
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("read assets: %w", err)
	}
	a.hash = hex.EncodeToString(sum.Sum(nil))[:12]
	return a, nil
}

// iconOf returns an icon for embedding in a page. Screen readers skip the icon, because the word
// next to it has the same meaning.
func iconOf(svg []byte) template.HTML {
	_, drawing, _ := bytes.Cut(svg, []byte(">\n  <")) // after the comment and the attributes
	drawing, _, _ = bytes.Cut(drawing, []byte("</svg>"))
	return template.HTML(`<svg class="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">` + //nolint:gosec // an embedded file
		"<" + strings.Join(strings.Fields(string(drawing)), " ") + "</svg>")
}

// URL returns a file's path, relative to the console's path.
func (a Assets) URL(name string) string { return "/static/" + a.hash + "/" + name }

// Icon returns an icon for embedding in a page.
func (a Assets) Icon(name string) template.HTML { return a.icons[name] }

// ServeHTTP implements http.Handler.
func (a Assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	content, found := a.files[name]
	if !found || r.PathValue("hash") != a.hash {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	if path.Ext(name) == ".woff2" { // some systems have no type for this extension
		w.Header().Set("Content-Type", "font/woff2")
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}
