package config

// MaxBodyOf returns the size of the largest body that a source accepts, form or not, in bytes. It
// returns 0 for a source that is not configured.
func (c *Config) MaxBodyOf(source string) int64 {
	limit := c.maxBodies[source]
	s := c.Sources[source]
	if limit == 0 || s.MaxBody > 0 {
		return limit
	}
	p, err := s.Sender()
	if err != nil {
		return limit
	}
	return max(limit, min(p.MaxForm, int64(c.Gateway.MaxBuffered))) // as in the gateway
}

// fillInMaxBodies sets, for each source, the maximum size of a body that is not a form, in bytes.
func (c *Config) fillInMaxBodies() {
	c.maxBodies = make(map[string]int64, len(c.Sources))
	for name, s := range c.Sources {
		limit := int64(s.MaxBody)
		if limit <= 0 {
			limit = max(int64(c.Gateway.MaxBody), providerCap(s))
		}
		c.maxBodies[name] = limit
	}
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
