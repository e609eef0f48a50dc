package config

// MaxBodyOf is the largest body that a source takes, in bytes, be it a form or
// not; 0 for a source that is not configured.
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
	return max(limit, min(p.MaxForm, int64(c.Gateway.MaxBuffered))) // as the gateway has it
}

// fillInMaxBodies notes the largest body of each source that is no form.
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

// providerCap is the largest body a source's sender is known to send, 0 when
// there is none or the source is wrong.
func providerCap(s Source) int64 {
	p, err := s.Sender()
	if err != nil {
		return 0
	}
	return p.MaxBody
}
