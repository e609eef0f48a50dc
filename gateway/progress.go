package gateway

import "sync/atomic"

// progress counts deliveries from the moment their body is read until their answer is
// known and logged. Nothing in between waits for the sender, and everything in it is
// bounded: by proofTimeout and by the time-out of the Accepter.
type progress struct{ begun, ended atomic.Int64 }

// Progress returns how many deliveries are being verified and committed, and how many
// have been since the start. A gateway whose underway stays above 0 while ended stays the
// same answers nobody.
func (g *Gateway) Progress() (underway, ended int64) {
	ended = g.progress.ended.Load() // first: underway is never too small
	return g.progress.begun.Load() - ended, ended
}

// judged notes that the answer is known. It may be called again.
func (rx *reception) judged() {
	if rx.judging {
		rx.judging = false
		rx.gateway.progress.ended.Add(1)
	}
}
