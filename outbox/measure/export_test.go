package measure

import "time"

// Bound lowers the limits of the counts.
func (r *Reader) Bound(most, least int) { r.most, r.least = most, least }

// Hasten shortens a Collector's interval and lease.
func (c *Collector) Hasten(every, lease time.Duration) { c.every, c.lease = every, lease }

// Collect takes all counts so far, and dates them to the minute of the moment just before the given
// time. A process does the same every ten seconds.
func (c *Counts) Collect(before time.Time) { c.collect(before) }

// SetAhead sets the process's clock ahead.
func (c *Counts) SetAhead(d time.Duration) { c.now = func() time.Time { return time.Now().Add(d) } }

// Sample counts the amount of waiting work.
func (c *Counts) Sample(w *Waiting) { c.sample(w) }
