package gauges

import "time"

// Bound counts less than there is room for.
func (r *Reader) Bound(most, least int) { r.most, r.least = most, least }

// Hasten makes the clock of a Collector run faster.
func (c *Collector) Hasten(every, lease time.Duration) { c.every, c.lease = every, lease }
