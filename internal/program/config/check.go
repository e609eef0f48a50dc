package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/option"
	"github.com/hooklatch/hooklatch/internal/size"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/schema"
)

// check reports all mistakes that the types cannot rule out.
func (c *Config) check(d *decoder) {
	c.Database.check(d, "database")
	d.faults("gateway", c.Gateway.validate())
	c.Gateway.TLS.check(d, "gateway.tls")
	c.Admin.check(d, c.Gateway)
	c.checkMasks(d)
	d.faults("worker", c.Worker.Validate())
	for n, source := range c.Sources {
		source.check(d, n, c.Gateway.PublicURL)
	}
	for n, dest := range c.Destinations {
		d.faults(join("destinations", n), dest.validate(n))
	}
	c.checkMemory(d)
	c.checkRetention(d)
	c.checkSeenCache(d)
	c.checkRoutes(d)
	c.checkChecks(d)
	c.checkAlerts(d)
	c.checkCells(d)
}

func (db Database) check(d *decoder, at string) {
	for _, url := range []struct {
		path  string
		value secret.Value
	}{{at + ".url", db.URL}, {at + ".direct_url", db.DirectURL}, {at + ".read_url", db.ReadURL}} {
		if url.value.IsZero() {
			continue
		}
		// The parser's error quotes the string, and does not reliably mask the password.
		if _, err := pgxpool.ParseConfig(url.value.Reveal()); err != nil {
			d.reportf(url.path, "is not a Postgres connection string; allowed: postgres://user:password@host:5432/name, or key=value pairs")
		}
	}
	if schema.Name(db.Schema).Validate() != nil {
		d.reportf(at+".schema", "%s is not a schema name; allowed: 1 to 46 lower-case letters, digits and underscores, not beginning with a digit", d.show(at+".schema", db.Schema))
	}
	var c option.Check
	c.AtLeast("max_conns", int64(db.MaxConns), 0)
	if db.Migrate != "" {
		c.OneOf("migrate", "time to migrate", db.Migrate, MigrateOnStart)
	}
	for i, allowed := range db.Allow {
		c.OneOf(fmt.Sprintf("allow[%d]", i), "permission", allowed, AllowFsyncOff)
	}
	d.faults(at, c.Err())
}

// checkMemory requires that gateway.max_buffered has room for one body of any source.
func (c *Config) checkMemory(d *decoder) {
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		limit := c.maxContent(c.Sources[name])
		if c.Sources[name].Gzip != "" {
			limit *= 2 // both the body as sent and the unpacked body are in memory
		}
		if c.Gateway.MaxBuffered > 0 && limit > int64(c.Gateway.MaxBuffered) && !d.reported("gateway.max_buffered") {
			d.reportf("gateway.max_buffered", "%s is too small for one body of source %q, which takes up to %s; set max_buffered to %s or more",
				c.Gateway.MaxBuffered, name, size.Bytes(limit), size.Bytes(2*limit))
		}
	}
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

// missingf reports that a mapping lacks a required field. It reports nothing if the field is
// present but wrong. It also reports nothing if the mapping contains an unknown key, because that
// key was most likely meant to be the field.
func (d *decoder) missingf(mapping, field, format string, args ...any) {
	present := slices.ContainsFunc(d.problems, func(p Problem) bool {
		return strings.HasPrefix(p.Path, join(mapping, field))
	})
	if !present && !d.unknown[mapping] {
		d.reportf(mapping, format, args...)
	}
}

// reported reports whether the field already has a problem.
func (d *decoder) reported(path string) bool {
	return d.problems.about(path)
}
