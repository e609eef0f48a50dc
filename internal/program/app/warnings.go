package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hooklatch/hooklatch/internal/program/config"
	"github.com/hooklatch/hooklatch/internal/program/loopback"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker/route"
)

// Warning describes a setting that is allowed but rarely intended. It contains no secret.
type Warning struct {
	Check   string // topic in one word
	Message string
	Fix     string
}

// Warnings finds settings that are allowed but probably not intended. database is the connection
// string from a flag or the environment, or zero.
func Warnings(cfg *config.Config, database secret.Value) []Warning {
	if !cfg.Database.OverriddenBy(database) {
		database = secret.Value{}
	}
	return slices.Concat(
		fileWarnings(cfg), keyWarnings(cfg), personalWarnings(cfg), routeWarnings(cfg), handlerWarnings(cfg), forwardWarnings(cfg), chatWarnings(cfg), roleWarnings(cfg), signInWarnings(cfg),
		overrideWarnings(cfg, database), searchPathWarnings(cfg, database), databaseWarnings(cfg, database),
	)
}

// LogWarnings logs each warning with its fix.
func LogWarnings(ctx context.Context, logger *slog.Logger, warnings []Warning) {
	for _, w := range warnings {
		logger.LogAttrs(ctx, slog.LevelWarn, w.Message+"; "+w.Fix)
	}
}

// fileWarnings returns warnings about deprecated keys, and about files with secrets that other
// users can read.
func fileWarnings(cfg *config.Config) []Warning {
	var warnings []Warning
	for _, w := range cfg.Deprecated() {
		warnings = append(warnings, Warning{"deprecated", w.Error(), "run `hooklatch check --fix`"})
	}
	for _, w := range cfg.Warnings() {
		warnings = append(warnings, Warning{"access", w.Error(), "remove that permission: chmod o-r"})
	}
	return warnings
}

// keyWarnings returns warnings about business keys that do not vary enough: of several events with
// the same key, only the first has an effect.
func keyWarnings(cfg *config.Config) []Warning {
	var warnings []Warning
	for _, w := range route.KeyWarnings(routesOf(cfg)) {
		for i, r := range cfg.Routes {
			if r.Name == w.Route {
				problem := cfg.Problem("routes["+strconv.Itoa(i)+"].key", fmt.Sprintf("%q %s", w.Key, w.Text))
				warnings = append(warnings, Warning{"keys", problem.Error(), "change the key if this is not intended"})
			}
		}
	}
	return warnings
}

// personalWarnings returns warnings about keys and ids that are built from personal data: keys and
// ids stay when an event is erased.
func personalWarnings(cfg *config.Config) []Warning {
	const stays = "reads %q, which identifies a person: keys and ids stay when an event is erased"
	var warnings []Warning
	for _, k := range route.PersonalKeys(routesOf(cfg)) {
		for i, r := range cfg.Routes {
			if r.Name == k.Route {
				problem := cfg.Problem("routes["+strconv.Itoa(i)+"]."+k.Field, fmt.Sprintf(stays, k.Name))
				warnings = append(warnings, Warning{"privacy", problem.Error(), "build it from an id that the sender assigns to the person, or from a hash"})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		id := cfg.Sources[name].EventID
		for _, part := range append([]string{id.Header, id.Pointer, id.Form}, id.Join...) { // not id.Fields and id.Optional: an id that is built from fields is a hash
			if route.NamesPerson(part[strings.LastIndexAny(part, "/:")+1:]) {
				problem := cfg.Problem("sources."+name+".event_id", fmt.Sprintf(stays, part))
				warnings = append(warnings, Warning{"privacy", problem.Error(), "build the id from other fields, or from their hash with fields:"})
			}
		}
	}
	return warnings
}

// routeWarnings returns warnings about sources whose events neither a route nor a Go handler
// receives. If there are no routes, the check command reports this once for all sources.
func routeWarnings(cfg *config.Config) []Warning {
	var warnings []Warning
	for _, name := range slices.Sorted(maps.Keys(cfg.Sources)) {
		routed := cfg.Sources[name].Handlers || len(cfg.Routes) == 0
		for _, r := range cfg.Routes {
			routed = routed || slices.Contains(r.From, name) || slices.Contains(r.From, route.EverySource)
		}
		if !routed {
			problem := cfg.Problem("sources."+name, "has no route: its events are stored and skipped")
			warnings = append(warnings, Warning{"routes", problem.Error(), fmt.Sprintf("add a route with from: %s, or remove the source", name)})
		}
	}
	return warnings
}

// handlerWarnings returns warnings about routes whose from includes a source with handlers: true.
// Such a route receives no events of that source.
func handlerWarnings(cfg *config.Config) []Warning {
	var warnings []Warning
	for _, name := range leftToHandlers(cfg) {
		for i, r := range cfg.Routes {
			if !slices.Contains(r.From, name) && !slices.Contains(r.From, route.EverySource) {
				continue
			}
			problem := cfg.Problem("routes["+strconv.Itoa(i)+"].from", fmt.Sprintf("route %q receives no events of source %q: handlers: true leaves them to Go handlers", r.Name, name))
			warnings = append(warnings, Warning{
				"handlers", problem.Error(),
				fmt.Sprintf("give the route to the program with the handlers, as worker.Options.Routes; or remove handlers: true from %s; or name the other sources in from", name),
			})
		}
	}
	return warnings
}

// leftToHandlers returns the sources with handlers: true. Their events go to programs with Go
// handlers, not to the routes of this program.
func leftToHandlers(cfg *config.Config) []string {
	names := slices.Collect(maps.Keys(cfg.Sources))
	names = slices.DeleteFunc(names, func(name string) bool { return !cfg.Sources[name].Handlers })
	slices.Sort(names)
	return names
}

// forwardWarnings returns warnings about routes that may rely on the behaviour of older versions,
// which forwarded all headers.
func forwardWarnings(cfg *config.Config) []Warning {
	var warnings []Warning
	for i, r := range cfg.Routes {
		if f := r.Forward; f != nil && f.Headers == route.ForwardOriginalHeaders && f.Allow == nil && f.Also == nil {
			problem := cfg.Problem("routes["+strconv.Itoa(i)+"].forward", "forwards only the sender's own headers; older versions forwarded all headers")
			warnings = append(warnings, Warning{
				"forward", problem.Error(),
				`write also: [User-Agent] to forward further headers, also: ["*"] to forward all as before, or also: [] to forward no others`,
			})
		}
	}
	return warnings
}

// chatWarnings returns warnings about routes that forward events unchanged to a chat, which accepts
// messages in its own format only. A route with forward is not reported: its events may have that
// format.
func chatWarnings(cfg *config.Config) []Warning {
	var warnings []Warning
	for i, r := range cfg.Routes {
		to := cfg.Destinations[r.To].HTTP
		if to == nil || to.Preset == "" || r.Forward != nil || r.HTTP != nil && (r.HTTP.Text != "" || r.HTTP.Body != "") {
			continue
		}
		problem := cfg.Problem("routes["+strconv.Itoa(i)+"].to", fmt.Sprintf("route %q has no message for destination %q: it forwards events unchanged, which %s refuses", r.Name, r.To, to.Preset))
		warnings = append(warnings, Warning{
			"chat", problem.Error(),
			"give the message as http.text, or as http.body in the chat's format; write forward: {} if the events are in that format",
		})
	}
	return warnings
}

// roleWarnings returns warnings about statements that run with all of Hooklatch's privileges.
func roleWarnings(cfg *config.Config) []Warning {
	var warnings []Warning
	for _, name := range slices.Sorted(maps.Keys(cfg.Destinations)) {
		if s := cfg.Destinations[name].SQL; s != nil && s.Role == "" {
			problem := cfg.Problem("destinations."+name+".sql", "runs its statements with all rights of the role of database.url, including those on the ledger")
			warnings = append(warnings, Warning{"roles", problem.Error(), "set role: to the name of a role that has only the rights that the statements need"})
		}
	}
	return warnings
}

// overrideWarnings returns warnings about configured connections that are not used, because the
// connection string in the parameter database overrides them.
func overrideWarnings(cfg *config.Config, database secret.Value) []Warning {
	var warnings []Warning
	for _, one := range []struct {
		field string
		url   secret.Value
	}{{"direct_url", cfg.Database.DirectURL}, {"read_url", cfg.Database.ReadURL}} {
		if !database.IsZero() && !one.url.IsZero() {
			problem := cfg.Problem("database."+one.field, "is not used: the URL from DATABASE_URL or --database-url differs from database.url and overrides it")
			warnings = append(warnings, Warning{"override", problem.Error(), "to use it, give the same URL as database.url, or none"})
		}
	}
	return warnings
}

// searchPathWarnings returns warnings about statements that may rely on the behaviour of older
// versions, which used the connection's search_path.
func searchPathWarnings(cfg *config.Config, database secret.Value) []Warning {
	parsed, err := pgx.ParseConfig(cmp.Or(database, cfg.Database.URL).Reveal())
	if err != nil || parsed.RuntimeParams["search_path"] == "" && !strings.Contains(parsed.RuntimeParams["options"], "search_path") {
		return nil
	}
	var warnings []Warning
	for _, name := range slices.Sorted(maps.Keys(cfg.Destinations)) {
		if s := cfg.Destinations[name].SQL; s != nil && !cfg.Given("destinations."+name+".sql.search_path") {
			problem := cfg.Problem("destinations."+name+".sql", "finds names without a schema only in public, no longer in the search_path of the connection")
			warnings = append(warnings, Warning{"search_path", problem.Error(), "set search_path: [NAME, public] with the schemas of the statements"})
		}
	}
	return warnings
}

// databaseWarnings returns warnings about unverified connections to other machines. An attacker on
// the network can read or take over such a connection.
func databaseWarnings(cfg *config.Config, database secret.Value) []Warning {
	urls := []secret.Value{database}
	if database.IsZero() {
		urls = []secret.Value{cfg.Database.URL, cfg.Database.DirectURL, cfg.Database.ReadURL}
	}
	for _, db := range cfg.Cells {
		urls = append(urls, db.URL, db.DirectURL, db.ReadURL)
	}
	var warnings []Warning
	for _, url := range urls {
		parsed, err := pgx.ParseConfig(url.Reveal())
		if url.IsZero() || err != nil {
			continue // reported elsewhere
		}
		host := unverifiedHost(parsed)
		warning := Warning{
			"sslmode", fmt.Sprintf("the connection to Postgres at %s is not verified: an attacker on the network could read events and secrets, or impersonate the server", host),
			"add sslmode=verify-full to the connection string, with sslrootcert=FILE if its certificate authority is not a public one",
		}
		if host != "" && !slices.Contains(warnings, warning) {
			warnings = append(warnings, warning)
		}
	}
	return warnings
}

// unverifiedHost returns the first host on another machine to which the connection is not verified.
// An unverified connection has no TLS, or does not check the certificate against the host's name.
// If there is no such host, unverifiedHost returns "".
func unverifiedHost(c *pgx.ConnConfig) string {
	tries := append([]*pgconn.FallbackConfig{{Host: c.Host, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
	for _, try := range tries {
		verified := try.TLSConfig != nil && !try.TLSConfig.InsecureSkipVerify
		if !verified && !isLocal(try.Host) {
			return try.Host
		}
	}
	return ""
}

// isLocal reports whether a host is this machine: a socket, or a loopback address or name.
func isLocal(host string) bool {
	return strings.HasPrefix(cmp.Or(host, "/"), "/") || loopback.Is(host)
}
