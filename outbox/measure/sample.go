package measure

// sample counts the amount of waiting work. Like all counts, the amounts of a period are summed.
// The number of readings is counted too, so that Average can divide by it.
func (c *Counts) sample(w *Waiting) {
	for _, of := range w.Effects {
		if of.Since == nil { // unfinished effects: only failed and parked effects have Since
			c.Of(OfDestination, of.Destination, Awaiting).Add(of.Count)
		}
	}
	for _, of := range w.Undispatched {
		c.Of(OfSource, of.Source, Awaiting).Add(of.Count)
	}
	c.Of(OfTimeline, "", sampled).Add(1)
}
