package main

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/gateway/provider/catalog"
)

// page is the content of a page in docs/providers.
type page struct {
	*provider.Provider

	Source, Secret     string
	Example            []string // required options
	Backfill           string
	Token, Endpoint    string // for backfill
	Deadline, MaxBody  string
	Retries, Resends   string
	Floor, Methods     string
	Handshake, Options string
	Guard              string
	Setup              []string
	By                 map[string]string // evidence for each fact
}

func newPage(name string, sdks []string) (page, error) {
	p, err := catalog.Describe(name)
	if err != nil {
		return page{}, err
	}
	pg := page{
		Provider:  p.Provider,
		Source:    name,
		Secret:    "${" + catalog.SecretVariable(name) + "}",
		Backfill:  cmp.Or(p.About.Backfill, "The sender offers no list of past events."),
		Deadline:  span(p.Deadline, "not published"),
		Retries:   span(p.RetryWindow, "no"),
		Resends:   span(p.ResendWindow, "no"),
		Floor:     span(p.Floor(), ""),
		Methods:   strings.Join(p.Methods, ", "),
		Handshake: "none",
		Guard:     "not needed",
		Options:   "`" + strings.Join(p.Options, "`, `") + "`",
		By:        map[string]string{},
	}
	if p.List != nil {
		pg.Token = "${" + strings.ToUpper(name) + "_API_TOKEN}"
		pg.Endpoint, _, _ = strings.Cut(p.List.Example, ",")
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
	for _, step := range p.About.Setup {
		pg.Setup = append(pg.Setup, strings.ReplaceAll(step, "{url}", "`https://YOUR-HOST/webhooks/"+name+"`"))
	}
	for fact, e := range p.About.Confirmed.Facts() {
		pg.By[fact] = byWhat(e, sdks)
	}
	return pg, nil
}

// span writes a duration in words, such as 1 hour 30 minutes, and drops fractions of a second. For
// less than a second, it returns the text in none.
func span(d time.Duration, none string) string {
	units := []struct {
		name string
		d    time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}}
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
