package measure

// sample counts the amount of waiting work. Amounts of several readings add up like all counts, and
// with them the number of readings, so that the average of any period can be computed.
func (c *Counts) sample(w *Waiting) {
	for _, of := range w.Effects {
		if of.Since == nil { // unfinished: failed and parked effects wait for an operator
			c.Of(OfDestination, of.Destination, Awaiting).Add(of.Count)
		}
	}
	for _, of := range w.Undispatched {
		c.Of(OfSource, of.Source, Awaiting).Add(of.Count)
	}
	c.Of(OfTimeline, "", sampled).Add(1)
}
