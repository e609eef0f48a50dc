package gateway

import (
	"time"
)

// paceGrace is for how long a body may come as slowly as it likes.
const paceGrace = 2 * time.Second

// pace cuts off a body that comes too slowly: a sender that dribbles holds a place
// that others want. The clock is the real one, as it is for all time-outs of a
// connection.
type pace struct {
	flight *flight
	end    time.Time // of the whole body, however fast it comes
	rate   int64     // bytes a second, after the grace
}

func (rx *reception) newPace() pace {
	opts := &rx.gateway.opts
	return pace{flight: &rx.flight, end: rx.flight.began.Add(opts.ReadTimeout), rate: int64(opts.MinBodyRate)}
}

// expect gives the next byte the time that what has been received earned. A
// server of the caller's may know no deadlines (see Gateway.Handler); a broken
// connection shows when it is read.
func (p *pace) expect(received int) {
	if received > 0 {
		p.flight.received(received, p.rate, time.Now())
	}
	earned := time.Duration(float64(received) / float64(p.rate) * float64(time.Second))
	grace := paceGrace
	if p.flight.hurried {
		grace = scarceGrace
	}
	deadline := p.flight.began.Add(grace + earned)
	if deadline.After(p.end) {
		deadline = p.end
	}
	_ = p.flight.connection.SetReadDeadline(deadline)
	if p.flight.thrownOut.Load() {
		p.flight.cut() // it came before this deadline
	}
}

// scarce reports whether a body that did not come in time had less time than usual.
func (p *pace) scarce() bool {
	return p.flight.thrownOut.Load() || p.flight.hurried && time.Since(p.flight.began) < paceGrace
}

// done ends it with the body. net/http goes on reading, to see whether the
// sender hangs up: that may take any time.
func (p *pace) done() { _ = p.flight.connection.SetReadDeadline(time.Time{}) }
