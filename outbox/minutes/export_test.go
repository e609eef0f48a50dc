package minutes

import "time"

// Collect takes what was counted before a moment, as the clock has it done every ten
// seconds.
func (c *Counts) Collect(before time.Time) { c.collect(before) }

// SetAhead sets the clock of the process wrong.
func (c *Counts) SetAhead(d time.Duration) { c.now = func() time.Time { return time.Now().Add(d) } }
