package console

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"reflect"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/internal/program/console/api"
	"github.com/hooklatch/hooklatch/internal/program/console/pretty"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// view is the common part of every page.
type view struct {
	Title     string
	Section   string // section of the navigation
	Bare      bool   // if true, no user is signed in, and the page has no navigation
	Person    signin.Person
	Look      look
	Here      string // path and query of this page, to return to
	Done      string // sentence about the action that was just completed
	Read      string // sentence about the server that was read, if there is a standby
	Version   string
	RequestID string
	Now       time.Time
	Badges    badges
	Refresh   int // seconds after which a browser without scripts reloads the page; 0 for never
}

// May reports whether the user's role includes the given role. Pages disable actions for which May
// is false, and the server refuses them too.
func (v view) May(role signin.Role) bool { return v.Person.Role.May(role) }

// Time renders a time in the chosen zone. Its tooltip shows milliseconds, in the chosen zone and in
// UTC.
func (v view) Time(t time.Time) template.HTML { return v.time(t, time.DateTime) }

// Exact is like Time, with milliseconds, for times close to each other.
func (v view) Exact(t time.Time) template.HTML { return v.time(t, "2006-01-02 15:04:05.000") }

func (v view) time(t time.Time, layout string) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return v.stamped(t, "", t.In(v.Look.location()).Format(layout))
}

// stamped returns a time element with an attribute and a text.
func (v view) stamped(t time.Time, with, text string) template.HTML {
	const exact = "2006-01-02 15:04:05.000 MST"
	said := template.HTMLEscapeString(t.In(v.Look.location()).Format(exact)) + " · " + t.UTC().Format(exact)
	return template.HTML(strings.TrimSuffix(`<time datetime="`+t.UTC().Format(time.RFC3339Nano)+`" title="`+said+`" `+with, " ") + `>` + text + `</time>`) //nolint:gosec // digits and names of zones
}

// Ago returns the time since t, or the time until t if t is in the future. It returns "" if t is
// zero.
func (v view) Ago(t time.Time) string {
	switch away := v.Now.Sub(t); {
	case t.IsZero():
		return ""
	case away < 0:
		return "in " + clock.Roughly(-away)
	default:
		return clock.Roughly(away) + " ago"
	}
}

// When renders the time since t, for lists. Its tooltip has the time itself, and the script keeps
// the displayed text current.
func (v view) When(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return v.stamped(t, "data-ago", clock.Roughly(v.Now.Sub(t))+" ago")
}

// Rendered returns the time from which the ages in lists are counted, for the script.
func (v view) Rendered() string { return v.Now.UTC().Format(time.RFC3339) }

// Due returns the time until t, or "due" and the time since t if t has passed. It returns "" if t
// is zero.
func (v view) Due(t time.Time) string {
	if !t.IsZero() && !t.After(v.Now) {
		return "due " + v.Ago(t)
	}
	return v.Ago(t)
}

// readTemplates parses each page inside the layout.
func (c *Console) readTemplates(files fs.FS) (map[string]*template.Template, error) {
	layout, err := template.New("").Funcs(template.FuncMap{
		"path":    func(p string) string { return c.base + p },
		"asset":   func(name string) string { return c.base + c.assets.URL(name) },
		"icon":    c.assets.Icon,
		"command": func(text string) string { return cells.Commands(text, c.opts.Cell) },
		"event":   func(ref identity.EventRef) string { return c.base + eventPath(ref) },
		"effect":  func(key string) string { return c.base + effectPath(key) },
		"route":   func(name string) string { return c.base + routePath(name) },
		"target":  targetPath,
		"row":     rowOf,
		"state":   pretty.StateOf,
		"middle":  middle,
		"brief":   brief,
		"address": func(from string) string { return strings.TrimSuffix(from, "/32") },
		"marked":  marked,
		"counted": func(n any, what string) string { return noun.Counted(reflect.ValueOf(n).Int(), what) },
	}).ParseFS(files, "page/layout.html", "page/part/*.html")
	if err != nil {
		return nil, fmt.Errorf("read pages: %w", err)
	}
	names, err := fs.Glob(files, "page/*.html")
	if err != nil {
		return nil, fmt.Errorf("read pages: %w", err)
	}
	templates := map[string]*template.Template{}
	for _, name := range names {
		page, err := layout.Clone()
		if err == nil {
			_, err = page.ParseFS(files, name)
		}
		if err != nil {
			return nil, fmt.Errorf("read pages: %w", err)
		}
		templates[strings.TrimSuffix(path.Base(name), ".html")] = page
	}
	return templates, nil
}

// forPrograms is a page whose data the API serves.
type forPrograms interface{ data() (any, error) }

// render responds with a complete page. A program gets the data of the page instead, with the
// status 200 unless data returns an error.
func (r *request) render(status int, name string, page any) error {
	if r.asData {
		of, is := page.(forPrograms)
		if !is {
			return errors.New("a program requested a page that has no data")
		}
		data, err := of.data()
		if err != nil {
			return err
		}
		r.place.free() // a client may read slowly
		return api.Write(r.w, http.StatusOK, data)
	}
	var body bytes.Buffer
	if err := r.templates[name].ExecuteTemplate(&body, "layout", page); err != nil {
		return fmt.Errorf("render page %s: %w", name, err)
	}
	r.place.free()
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.w.WriteHeader(status)
	_, _ = body.WriteTo(r.w) // fails only if the client has disconnected
	return nil
}

// marked renders text between backticks as code, for the texts about providers.
func marked(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		if part = template.HTMLEscapeString(part); i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String()) //nolint:gosec // every part went through escape
}

// middle shortens a long text in its middle, because ids differ at both ends. The linked page shows
// the whole text.
func middle(text string) string { return cut(text, 44, 20) }

// brief is like middle, but shorter, for tables with many columns.
func brief(text string) string { return cut(text, 25, 11) }

// cut returns a text of at most `most` characters unchanged. It shortens a longer text to the first
// and the last `kept` characters, with an ellipsis between them.
func cut(text string, most, kept int) string {
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	return string(letters[:kept]) + "…" + string(letters[len(letters)-kept:])
}
