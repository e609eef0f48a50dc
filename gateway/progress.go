package gateway

import "sync/atomic"

// progress counts deliveries from the moment their body is read until their answer is known
// and logged. Nothing in between waits for the sender, and every step is bounded, by
// proofTimeout or by the timeout of the Accepter.
type progress struct{ begun, ended atomic.Int64 }

// Progress returns the number of deliveries being verified and committed, and the number
// finished since the start. If underway stays above 0 while ended does not change, the
// gateway answers no sender.
func (g *Gateway) Progress() (underway, ended int64) {
	ended = g.progress.ended.Load() // first, so that underway is never too small
	return g.progress.begun.Load() - ended, ended
}

// judged records that the answer is known. It may be called again.
func (rx *reception) judged() {
	if rx.judging {
		rx.judging = false
		rx.gateway.progress.ended.Add(1)
	}
}
