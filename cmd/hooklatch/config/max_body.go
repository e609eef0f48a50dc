package config

// MaxBodyOf is the largest body that a source takes, in bytes; 0 for a source
// that is not configured.
func (c *Config) MaxBodyOf(source string) int64 { return c.maxBodies[source] }

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
	return max(p.MaxBody, p.MaxForm)
}
