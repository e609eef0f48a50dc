package whatif_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// settings are a generated configuration.
type settings struct {
	destinations map[string]string // YAML by name
	routes       []generatedRoute
	maxBody      string // max_body of the source s1; empty for the default
}

// generatedRoute is the YAML of a route by field.
type generatedRoute map[string]string

// Names for generated configurations. The prefix of a destination's name is its kind.
var (
	sourceNames      = []string{"s1", "s2"}
	destinationNames = []string{"http1", "http2", "http3", "mail", "sql"}
	routeNames       = []string{"r1", "r2", "r3", "r4", "r5", "r6"}
)

// Expressions over the generated events. Some of the expressions fail for some or all events.
var (
	conditions = []string{"", "body.amount > 10", `body.customer == "ada"`, `event.type.startsWith("invoice")`, "body.missing == 1", "has(body.customer)"}
	keys       = []string{"", "body.customer", "body.amount", `event.type + "/" + body.customer`, "body.missing", "event.id"}
	bodies     = []string{"", `{"of": body.customer, "n": body.amount}`, "body", `{"type": event.type}`, "body.missing", `"%d".format([body.amount])`}
	headers    = []string{"event.id", "body.customer", "event.source", `"a\nb"`}
)

func drawSettings(t *rapid.T, receiver string) settings {
	s := settings{destinations: map[string]string{}, maxBody: rapid.SampledFrom([]string{"", "", "", "60B"}).Draw(t, "max body")}
	for _, name := range destinationNames {
		s.destinations[name] = drawDestination(t, name, receiver)
	}
	for _, name := range routeNames {
		if rapid.IntRange(0, 3).Draw(t, "has "+name) > 0 {
			s.routes = append(s.routes, drawRoute(t, name, receiver))
		}
	}
	s.routes = append(s.routes, sharing("body.amount < 100", "http1"))
	return s
}

// sharing returns a route with which the effects of all events of a source share a key. The body
// names the event that caused the effect.
func sharing(when, to string) generatedRoute {
	return generatedRoute{"name": "sharing", "from": "'*'", "to": to, "when": quoted(when), "key": quoted(`"one"`), "http": "{body: " + quoted("event.id") + "}"}
}

// changed returns s with changes that an operator might make.
func (s settings) changed(t *rapid.T, receiver string) settings {
	next := settings{destinations: maps.Clone(s.destinations), maxBody: s.maxBody}
	for _, name := range destinationNames {
		if rapid.IntRange(0, 4).Draw(t, "change "+name) == 0 {
			next.destinations[name] = drawDestination(t, name, receiver)
		}
	}
	if rapid.IntRange(0, 5).Draw(t, "change max body") == 0 {
		next.maxBody = "60B"
	}
	had := map[string]bool{}
	for _, r := range s.routes {
		name := r["name"]
		had[name] = true
		if name == "sharing" { // the changed route matches other events, so another event may be the first
			next.routes = append(next.routes, sharing("body.amount > 10", rapid.SampledFrom([]string{"http1", "http2"}).Draw(t, "to")))
			continue
		}
		switch rapid.SampledFrom([]string{"keep", "keep", "remove", "rename", "replace", "a field", "a field"}).Draw(t, "fate of "+name) {
		case "keep":
			next.routes = append(next.routes, r)
		case "rename":
			renamed := maps.Clone(r)
			renamed["name"] = name + "-new"
			next.routes = append(next.routes, renamed)
		case "replace":
			next.routes = append(next.routes, drawRoute(t, name, receiver))
		case "a field":
			edited, other := maps.Clone(r), drawRoute(t, name, receiver)
			field := rapid.SampledFrom([]string{"from", "types", "when", "key"}).Draw(t, "field")
			delete(edited, field)
			if other[field] != "" {
				edited[field] = other[field]
			}
			next.routes = append(next.routes, edited)
		}
	}
	for _, name := range routeNames {
		if !had[name] && rapid.Bool().Draw(t, "add "+name) {
			next.routes = append(next.routes, drawRoute(t, name, receiver))
		}
	}
	return next
}

func drawDestination(t *rapid.T, name, receiver string) string {
	policy := rapid.SampledFrom([]string{"", ", policy: at_most_once"}).Draw(t, "policy")
	switch name {
	case "mail":
		return fmt.Sprintf("{smtp: {host: 127.0.0.1, port: MAIL, from: %s@example.com, tls: none}%s}", rapid.SampledFrom([]string{"a", "b"}).Draw(t, "sender"), policy)
	case "sql":
		return `{sql: {statements: {note: "INSERT INTO noted VALUES ($1)"}}}`
	}
	path := rapid.SampledFrom([]string{"/a", "/b"}).Draw(t, "path")
	method := rapid.SampledFrom([]string{"", ", method: PUT"}).Draw(t, "method")
	header := rapid.SampledFrom([]string{"", `, headers: {X-Shop: one}`, `, headers: {X-Shop: two}`}).Draw(t, "header")
	return fmt.Sprintf("{http: {url: %q%s%s}, allow_private: [127.0.0.0/8]%s}", receiver+path, method, header, policy)
}

func drawRoute(t *rapid.T, name, receiver string) generatedRoute {
	r := generatedRoute{"name": name, "to": rapid.SampledFrom(destinationNames).Draw(t, "to")}
	r["from"] = rapid.SampledFrom([]string{"s1", "s2", "'*'", "[s1, s2]"}).Draw(t, "from")
	r["types"] = rapid.SampledFrom([]string{"", "[invoice.*]", "[order.created, invoice.paid]"}).Draw(t, "types")
	r["when"] = quoted(rapid.SampledFrom(conditions).Draw(t, "when"))
	r["key"] = quoted(rapid.SampledFrom(keys).Draw(t, "key"))
	order := rapid.SampledFrom(keys).Draw(t, "order")
	switch by := rapid.SampledFrom([]string{"", "", "order_by", "latest_by"}).Draw(t, "by"); {
	case by != "" && order != "":
		r[by] = quoted(order)
		r["on_park"] = rapid.SampledFrom([]string{"", "skip"}).Draw(t, "on park")
	}
	switch kind := rapid.SampledFrom([]string{"plain", "http", "forward"}).Draw(t, "request"); {
	case r["to"] == "mail":
		r["email"] = fmt.Sprintf(`{recipient: %s, subject: %s, text: "{{ .body.amount }}"}`,
			rapid.SampledFrom([]string{`"'x@example.com'"`, `"body.customer + '@example.com'"`, "body.missing"}).Draw(t, "recipient"),
			rapid.SampledFrom([]string{"Paid", `"{{ .body.customer }}"`, `"{{ .body.missing }}"`}).Draw(t, "subject"))
	case r["to"] == "sql":
		r["sql"] = "{params: [" + quoted(rapid.SampledFrom([]string{"body.customer", "body.amount", "body", "body.missing"}).Draw(t, "param")) + "]}"
	case kind == "http":
		r["http"] = drawRequest(t, receiver)
	case kind == "forward":
		r["forward"] = rapid.SampledFrom([]string{"{headers: original, allow: [X-*]}", "{headers: original, also: [X-Kind]}", "{headers: none}"}).Draw(t, "forward")
	}
	maps.DeleteFunc(r, func(_, value string) bool { return value == "" })
	return r
}

func drawRequest(t *rapid.T, receiver string) string {
	var parts []string
	if body := rapid.SampledFrom(bodies).Draw(t, "body"); body != "" {
		parts = append(parts, "body: "+quoted(body))
	}
	if rapid.Bool().Draw(t, "sets method") {
		parts = append(parts, "method: PATCH")
	}
	if rapid.Bool().Draw(t, "sets url") {
		parts = append(parts, "url: "+quoted(fmt.Sprintf("%q + body.customer", receiver+"/of/")))
	}
	if rapid.Bool().Draw(t, "sets header") {
		parts = append(parts, "headers: {X-Of: "+quoted(rapid.SampledFrom(headers).Draw(t, "header"))+"}")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// quoted returns an expression as a YAML string.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// yaml returns the configuration for a database.
func (s settings) yaml(database, mailPort string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "database: {url: %q, allow: [fsync_off]}\ngateway: {listen: \"127.0.0.1:0\"}\nadmin: {listen: \"127.0.0.1:0\"}\nallow_empty: true\nsources:\n", database)
	for _, name := range sourceNames {
		limit := ""
		if name == "s1" && s.maxBody != "" {
			limit = ", max_body: " + s.maxBody
		}
		fmt.Fprintf(&b, "  %s: {provider: github, secrets: [correct horse battery staple]%s}\n", name, limit)
	}
	b.WriteString("destinations:\n")
	for _, name := range destinationNames {
		fmt.Fprintf(&b, "  %s: %s\n", name, strings.ReplaceAll(s.destinations[name], "MAIL", mailPort))
	}
	if len(s.routes) > 0 {
		b.WriteString("routes:\n")
	}
	for _, r := range s.routes {
		lead := "  - "
		for _, field := range slices.Sorted(maps.Keys(r)) {
			fmt.Fprintf(&b, "%s%s: %s\n", lead, field, r[field])
			lead = "    "
		}
	}
	return b.String()
}
