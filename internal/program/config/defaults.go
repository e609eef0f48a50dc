package config

import (
	"cmp"
	"net"
	"time"

	"github.com/hooklatch/hooklatch/gateway"
	"github.com/hooklatch/hooklatch/gateway/provider"
	"github.com/hooklatch/hooklatch/internal/program/admin"
	"github.com/hooklatch/hooklatch/internal/program/console/signin"
	"github.com/hooklatch/hooklatch/schema"
)

// Default returns the configuration of an empty file.
func Default() Config {
	c := Config{origin: &origin{}}
	c.fillIn()
	return c
}

// fillIn sets every omitted field to its default.
func (c *Config) fillIn() {
	c.Database.Schema = cmp.Or(c.Database.Schema, string(schema.Default))

	for name, db := range c.Cells {
		db.Schema = cmp.Or(db.Schema, string(schema.Default))
		c.Cells[name] = db
	}

	c.Gateway = c.Gateway.withDefaults()

	c.Admin.Listen = cmp.Or(c.Admin.Listen, admin.DefaultListen)
	c.Admin.ConsoleURL = cmp.Or(c.Admin.ConsoleURL, c.Admin.URL())
	c.Admin.Auth.Payloads = cmp.Or(c.Admin.Auth.Payloads, string(signin.Viewer))
	if oidc := c.Admin.Auth.OIDC; oidc != nil && len(oidc.Scopes) == 0 {
		oidc.Scopes = []string{"openid", "profile", "email"}
	}
	c.Admin.MaxRun = cmp.Or(c.Admin.MaxRun, defaultMaxRun)

	c.Worker = c.Worker.WithDefaults()

	for name, s := range c.Sources {
		c.Sources[name] = s.withDefaults()
	}
	c.Alerts = c.Alerts.withDefaults()
	c.fillInRetention()
	for name, dest := range c.Destinations {
		c.Destinations[name] = dest.withDefaults()
	}
}

func (s Source) withDefaults() Source {
	s.made, s.madeErr = s.Sender()
	if s.ReplayGuard == "" {
		s.ReplayGuard = ReplayOff
		if p, err := s.Sender(); err == nil {
			s.ReplayGuard = string(gateway.DefaultReplayGuard(p))
		}
	}
	if s.Backfill != nil {
		var list *provider.List
		if s.made != nil {
			list = s.made.List
		}
		s.Backfill = new(s.Backfill.WithDefaults(list))
	}
	s.Dedup.Rule = cmp.Or(s.Dedup.Rule, DedupID)
	s.Quarantine = cmp.Or(s.Quarantine, QuarantineOn)
	if s.Dedup.Rule == DedupContent {
		s.DedupWindow = cmp.Or(s.DedupWindow, time.Minute)
	}
	return s
}

// URL returns the URL of the admin listener for a browser on the same machine, or "" if the port is
// not known.
func (a Admin) URL() string {
	host, port, err := net.SplitHostPort(a.Listen)
	if err != nil || port == "0" {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if a.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
