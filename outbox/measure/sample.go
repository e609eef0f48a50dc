package measure

// sample counts the amount of waiting work. The amounts of all readings are summed, like all
// counts. The readings are counted too, so that the average of any period can be computed.
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
