package console

import (
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/clock"
	"github.com/hooklatch/hooklatch/internal/program/console/pretty"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// view is what every page has.
type view struct {
	Title     string
	Section   string // of the navigation
	Bare      bool   // whoever looks is not known: only this page is there
	Person    signin.Person
	Look      look
	Here      string // path and query of this page, to come back to
	Done      string // what was just ordered, in a sentence
	Version   string
	RequestID string
	Now       time.Time
	Badges    badges
}

// May reports whether whoever looks has a role that includes this one: what it lacks is
// shown, and disabled. The server refuses it all the same.
func (v view) May(role signin.Role) bool { return v.Person.Role.May(role) }

// Time is a point in time: absolute in the chosen zone, how long ago, and to the
// millisecond in UTC when pointed at.
func (v view) Time(t time.Time) template.HTML { return v.time(t, time.DateTime) }

// Exact is Time with milliseconds, where things follow each other closely.
func (v view) Exact(t time.Time) template.HTML { return v.time(t, "2006-01-02 15:04:05.000") }

func (v view) time(t time.Time, layout string) template.HTML {
	if t.IsZero() {
		return "–"
	}
	const exact = "2006-01-02 15:04:05.000 MST"
	here := t.In(v.Look.location())
	said := template.HTMLEscapeString(here.Format(exact)) + " · " + t.UTC().Format(exact)
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339Nano) + `" title="` + said + `">` + here.Format(layout) + `</time>`) //nolint:gosec // digits and names of zones
}

// Ago is how long ago something was, or how soon it will be.
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

// Due is how soon something will be done, or how long ago it should have been.
func (v view) Due(t time.Time) string {
	if !t.IsZero() && !t.After(v.Now) {
		return "due " + v.Ago(t)
	}
	return v.Ago(t)
}

// readTemplates makes a template of each page, inside the layout.
func (c *Console) readTemplates(files fs.FS) (map[string]*template.Template, error) {
	layout, err := template.New("").Funcs(template.FuncMap{
		"path":    func(p string) string { return c.base + p },
		"asset":   func(name string) string { return c.base + c.assets.URL(name) },
		"icon":    c.assets.Icon,
		"event":   func(ref identity.EventRef) string { return c.base + eventPath(ref) },
		"effect":  func(key string) string { return c.base + effectPath(key) },
		"target":  targetPath,
		"state":   pretty.StateOf,
		"middle":  middle,
		"brief":   brief,
		"address": func(from string) string { return strings.TrimSuffix(from, "/32") },
		"marked":  marked,
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

// marked shows what stands between backticks as code, which is how texts about providers
// are written.
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

// middle cuts a long text in its middle: ids differ at both ends. It is copied whole from
// where it is linked to.
func middle(text string) string { return cut(text, 44, 20) }

// brief is middle in tables that have many columns.
func brief(text string) string { return cut(text, 25, 11) }

// cut leaves most letters of a text, or as many as are kept at both of its ends.
func cut(text string, most, kept int) string {
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	return string(letters[:kept]) + "…" + string(letters[len(letters)-kept:])
}
