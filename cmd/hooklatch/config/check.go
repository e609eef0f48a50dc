package config

import (
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/cmd/hooklatch/loopback"
	"github.com/hooklatch/hooklatch/outbox/option"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/outbox/size"
	"github.com/hooklatch/hooklatch/schema"
)

var namePattern = regexp.MustCompile(option.NamePattern)

const nameRule = "allowed: 1 to 63 lower-case letters, digits, hyphens and underscores, beginning with a letter or a digit"

// check reports everything that a type cannot say.
func (c *Config) check(d *decoder) {
	c.Database.check(d)
	d.faults("gateway", c.Gateway.validate())
	c.Gateway.TLS.check(d, "gateway.tls")
	c.Admin.check(d, c.Gateway)
	d.faults("worker", c.Worker.Validate())
	for n, source := range c.Sources {
		source.check(d, n, c.Gateway.PublicURL)
	}
	for n, dest := range c.Destinations {
		d.faults(join("destinations", n), dest.validate(n))
	}
	c.checkMemory(d)
	c.checkRetention(d)
	c.checkRoutes(d)
}

func (db Database) check(d *decoder) {
	for _, url := range []struct {
		path  string
		value secret.Value
	}{{"database.url", db.URL}, {"database.direct_url", db.DirectURL}} {
		if url.value.IsZero() {
			continue
		}
		// The parser's error quotes the string, masked on best effort only.
		if _, err := pgxpool.ParseConfig(url.value.Reveal()); err != nil {
			d.reportf(url.path, "is not a Postgres connection string; allowed: postgres://user:password@host:5432/name, or key=value pairs")
		}
	}
	if schema.Name(db.Schema).Validate() != nil {
		d.reportf("database.schema", "%s is not a schema name; allowed: 1 to 46 lower-case letters, digits and underscores, not beginning with a digit", d.show("database.schema", db.Schema))
	}
	d.notNegative("database.max_conns", db.MaxConns)
}

// checkMemory wants room for at least one body of every source.
func (c *Config) checkMemory(d *decoder) {
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		limit := c.MaxBodyOf(name)
		if c.Gateway.MaxBuffered > 0 && limit > int64(c.Gateway.MaxBuffered) && !d.reported("gateway.max_buffered") {
			d.reportf("gateway.max_buffered", "%s has no room for one body of source %q, which takes up to %s; write max_buffered: %s, or more",
				c.Gateway.MaxBuffered, name, size.Bytes(limit), size.Bytes(2*limit))
		}
	}
}

func (a Admin) check(d *decoder, g Gateway) {
	host, ok := d.address("admin.listen", a.Listen)
	if ok && !loopback.Is(host) && a.Token.IsZero() && !d.reported("admin.token") && !d.reported("admin.token_file") {
		d.reportf("admin.listen", "%s can be reached from other machines: set admin.token or admin.token_file, or listen on 127.0.0.1", d.show("admin.listen", a.Listen))
	}
	if ok && a.Listen == g.Listen && !strings.HasSuffix(a.Listen, ":0") {
		d.reportf("admin.listen", "%s is the address of gateway.listen; two listeners need two", d.show("admin.listen", a.Listen))
	}
	a.TLS.check(d, "admin.tls")
	d.webURL("admin.console_url", a.ConsoleURL)
}

func (k *KeyPair) check(d *decoder, at string) {
	switch {
	case k == nil:
	case k.CertFile == "":
		d.missingf(at, "cert_file", "has no cert_file, the PEM file of the certificate")
	case k.KeyFile == "":
		d.missingf(at, "key_file", "has no key_file, the PEM file of the private key")
	}
}

// missingf reports that a mapping lacks a field it must have, unless the field
// is there but wrong, or the mapping has something in it that was not understood:
// most likely that was meant.
func (d *decoder) missingf(mapping, field, format string, args ...any) {
	present := slices.ContainsFunc(d.problems, func(p Problem) bool {
		return strings.HasPrefix(p.Path, join(mapping, field))
	})
	if !present && !d.unknown[mapping] {
		d.reportf(mapping, format, args...)
	}
}

// element is the path of an element of a list, or that of the list itself
// where one value stands for a list of one.
func (d *decoder) element(path string, i int) string {
	element := path + "[" + strconv.Itoa(i) + "]"
	if _, ok := d.origin.lines[element]; ok {
		return element
	}
	return path
}

// reported reports whether the field has a problem already.
func (d *decoder) reported(path string) bool {
	return d.problems.about(path)
}

func (d *decoder) name(path, given string) {
	if !namePattern.MatchString(given) {
		d.reportf(path, "%s is not a name; %s", d.show(path, given), nameRule)
	}
}

func (d *decoder) positive(path string, value int64) {
	if value < 1 && !d.reported(path) {
		d.reportf(path, "%d is too small; it must be at least 1", value)
	}
}

func (d *decoder) notNegative(path string, value int) {
	if value < 0 {
		d.reportf(path, "%d is too small; it must be at least 0", value)
	}
}

func (d *decoder) duration(path string, value time.Duration) {
	if value <= 0 && !d.reported(path) {
		d.reportf(path, "%s is too short; it must be longer than 0s", value)
	}
}

func (d *decoder) durationFrom0(path string, value time.Duration) {
	if value < 0 && !d.reported(path) {
		d.reportf(path, "%s is too short; it must be longer than 0s", value)
	}
}

// address checks a host:port to listen on and returns its host.
func (d *decoder) address(path, given string) (string, bool) {
	host, port, err := net.SplitHostPort(given)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil && !d.reported(path) {
		d.reportf(path, "%s is not an address to listen on; allowed: host:port or :port, like 127.0.0.1:8081", d.show(path, given))
	}
	return host, err == nil
}

// webURL checks an absolute http or https URL, if one is given. Its text is
// repeated only when it has no user and password.
func (d *decoder) webURL(path, given string) {
	if given == "" {
		return
	}
	const allowed = "allowed: an http:// or https:// URL with a host"
	u, err := url.Parse(given)
	switch {
	case err != nil:
		d.reportf(path, "is not a URL; %s", allowed)
	case u.User != nil:
		d.reportf(path, "has a user or password; give them in fields of their own")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		d.reportf(path, "%s is not a URL of the web; %s", d.show(path, given), allowed)
	case u.Fragment != "":
		d.reportf(path, "%s has a fragment, which no server sees", d.show(path, given))
	}
}
