package config

import "github.com/hooklatch/hooklatch/gateway"

// MaxBodyOf returns the size of the largest body that a source accepts, form or not, in bytes. It
// returns 0 for a source that is not configured.
func (c *Config) MaxBodyOf(source string) int64 {
	s, known := c.Whole().Sources[source]
	if !known {
		return 0
	}
	limit := c.maxContent(s)
	if s.MaxBody > 0 {
		return limit
	}
	p, err := s.Sender()
	if err != nil {
		return limit
	}
	return max(limit, min(p.MaxForm, int64(c.Gateway.MaxBuffered))) // the gateway has the same rule
}

// MaxBodies returns the results of MaxBodyOf, by source, for each source of this cell whose limit
// is not the default one. Such a limit comes from max_body of the source, or from a setting of the
// gateway.
func (c *Config) MaxBodies() map[string]int64 {
	plain := Config{Sources: map[string]Source{}, Gateway: Gateway{Options: gateway.Options{}.WithDefaults()}}
	for name, s := range c.Sources {
		s.MaxBody = 0
		plain.Sources[name] = s
	}
	limits := map[string]int64{}
	for name := range c.Sources {
		if limit := c.MaxBodyOf(name); limit != plain.MaxBodyOf(name) {
			limits[name] = limit
		}
	}
	return limits
}

// maxContent returns the maximum size of a source's body that is not a form, in bytes. It uses
// gateway.max_body at the time of the call, which is the value in effect even after a reload.
func (c *Config) maxContent(s Source) int64 {
	if s.MaxBody > 0 {
		return int64(s.MaxBody)
	}
	return max(int64(c.Gateway.MaxBody), providerCap(s))
}

// providerCap returns the size of the largest body that a source's provider is known to send. It
// returns 0 if the size is unknown or the source is not valid.
func providerCap(s Source) int64 {
	p, err := s.Sender()
	if err != nil {
		return 0
	}
	return p.MaxBody
}
