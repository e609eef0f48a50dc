package catalog

import (
	"bytes"
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	texttemplate "text/template"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/internal/proof"
)

//go:generate go test . -run ^TestPagesAreCurrent$ -update

const pagesPath = "../../../docs/providers"

var update = flag.Bool("update", false, "write the pages of docs/providers anew")

// page is what a page of docs/providers shows.
type page struct {
	*provider.Provider

	Source, Secret     string
	Example            []string // options that are required
	Backfill           string
	Deadline, MaxBody  string
	Retries, Resends   string
	Floor, Methods     string
	Handshake, Options string
	Guard              string
	Setup              []string
	By                 map[string]string // what confirms each fact
}

// TestPagesAreCurrent compares the pages with the declarations. It tells how
// to write them anew.
func TestPagesAreCurrent(t *testing.T) {
	t.Parallel()
	want := pages(t)
	if *update {
		require.NoError(t, os.RemoveAll(pagesPath))
		require.NoError(t, os.MkdirAll(pagesPath, 0o755))
		for name, text := range want {
			require.NoError(t, os.WriteFile(filepath.Join(pagesPath, name), []byte(text), 0o644))
		}
		return
	}
	const stale = "%s is out of date; run: go generate ./gateway/provider/..."
	files, err := os.ReadDir(pagesPath)
	require.NoError(t, err)
	for _, file := range files {
		require.Contains(t, want, file.Name(), stale, file.Name())
	}
	for name, text := range want {
		published, err := os.ReadFile(filepath.Join(pagesPath, name))
		require.NoError(t, err, stale, name)
		require.Equal(t, text, string(published), stale, name)
	}
}

// pages renders all pages, by the name of the file.
func pages(t *testing.T) map[string]string {
	t.Helper()
	functions := texttemplate.FuncMap{
		"add":  func(a, b int) int { return a + b },
		"join": func(names []string) string { return strings.ReplaceAll(strings.Join(names, ", "), "_", " ") },
		"cell": func(s string) string { return strings.ReplaceAll(s, "|", `\|`) },
	}
	templates := texttemplate.Must(texttemplate.New("").Funcs(functions).ParseGlob("testdata/pages/*.tmpl"))
	render := func(name string, data any) string {
		var text bytes.Buffer
		require.NoError(t, templates.ExecuteTemplate(&text, name, data))
		return text.String()
	}
	rendered := map[string]string{}
	ran := ranSDKs(t)
	var all []page
	for _, name := range Names() {
		p := newPage(t, name)
		for fact, e := range factsOf(p.About.Confirmed) {
			p.By[fact] = byWhat(e, ran[name])
		}
		all = append(all, p)
		rendered[name+".md"] = render("provider.md.tmpl", p)
	}
	rendered["README.md"] = render("README.md.tmpl", all)
	return rendered
}

func newPage(t *testing.T, name string) page {
	t.Helper()
	p, err := Describe(name)
	require.NoError(t, err, "%s needs examples()", name)
	pg := page{
		Provider:  p.Provider,
		Source:    name,
		Secret:    "${" + SecretVariable(name) + "}",
		Backfill:  cmp.Or(p.About.Backfill, "The sender keeps no list of events that could be asked for."),
		Deadline:  span(p.Deadline, "not published"),
		Retries:   span(p.RetryWindow, "no"),
		Resends:   span(p.ResendWindow, "no"),
		Floor:     span(p.Floor(), ""),
		Methods:   strings.Join(p.Methods, ", "),
		Handshake: "none",
		Guard:     "not needed",
		Options:   "none",
		By:        map[string]string{},
	}
	if p.RetryWindow > 0 {
		pg.Retries = "for " + pg.Retries
	}
	if p.ResendWindow > 0 {
		pg.Resends = "for " + pg.Resends
	}
	if p.Example != "" {
		pg.Example = strings.Split(p.Example, "\n")
	}
	if p.Keyless {
		pg.Secret = ""
	}
	if p.MaxBody > 0 {
		pg.MaxBody = strconv.FormatInt(p.MaxBody>>20, 10) + " MiB"
	}
	if p.Handshake != nil {
		pg.Handshake = "answered"
	}
	switch {
	case p.UnsignedBody:
		pg.Guard = "refuses by default: the signature is not tied to the body"
	case p.UnsignedID:
		pg.Guard = "flags by default: the id is not signed"
	}
	if len(p.Options) > 0 {
		pg.Options = "`" + strings.Join(p.Options, "`, `") + "`"
	}
	for _, step := range p.About.Setup {
		pg.Setup = append(pg.Setup, strings.ReplaceAll(step, "{url}", "`https://YOUR-HOST/webhooks/"+name+"`"))
	}
	return pg
}

// span spells a duration for people.
func span(d time.Duration, none string) string {
	units := []struct {
		name string
		d    time.Duration
	}{{"day", proof.Day}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}}
	var parts []string
	for _, u := range units {
		if n := int(d / u.d); n > 0 {
			name := u.name
			if n > 1 {
				name += "s"
			}
			parts = append(parts, strconv.Itoa(n)+" "+name)
			d -= time.Duration(n) * u.d
		}
	}
	return cmp.Or(strings.Join(parts, " "), none)
}

// TestAboutIsComplete finds in every declaration what a person needs.
func TestAboutIsComplete(t *testing.T) {
	t.Parallel()
	for name, o := range configured(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provide(t, name, o)
			require.NotEmpty(t, p.About.Signing)
			require.NotEmpty(t, p.About.KeyRule)
			require.Contains(t, strings.Join(p.About.Setup, " "), "{url}")
			texts := slices.Concat(p.About.Setup, p.About.Notes, []string{p.About.Signing, p.About.KeyRule})
			for _, text := range texts {
				require.True(t, strings.HasSuffix(text, ".") || strings.HasSuffix(text, ")"), "%q is a sentence", text)
				require.NotContains(t, text, "\n")
			}
			if p.About.Docs != "" {
				require.True(t, strings.HasPrefix(p.About.Docs, "https://"), p.About.Docs)
			}
			require.GreaterOrEqual(t, p.Floor(), time.Hour)
			if p.UnsignedID || p.UnsignedBody {
				require.NotNil(t, p.ReplayToken, "what the replay guard remembers")
			}
		})
	}
}
