package gauges

// Bound counts less than there is room for.
func (r *Reader) Bound(most, least int) { r.most, r.least = most, least }

