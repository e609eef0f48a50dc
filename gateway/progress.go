package gateway

import "sync/atomic"

// progress counts deliveries from the end of their body until their response is known and logged.
// No step in between waits for the sender. Either proofTimeout or the Accepter's timeout limits
// each step.
type progress struct{ begun, ended atomic.Int64 }

// Progress returns the number of deliveries being verified and committed, and the number
// finished since the start. If underway stays above 0 while ended does not change, the gateway
// is stuck.
func (g *Gateway) Progress() (underway, ended int64) {
	ended = g.progress.ended.Load() // first, so that underway is never too small
	return g.progress.begun.Load() - ended, ended
}

// judged records that the response is known. It may be called repeatedly.
func (rx *reception) judged() {
	if rx.judging {
		rx.judging = false
		rx.gateway.progress.ended.Add(1)
	}
}
