package gateway

import (
	"time"
)

// paceGrace is the initial period in which a body may arrive at any speed.
const paceGrace = 2 * time.Second

// pace cuts off a body that arrives too slowly, because a dribbling sender holds a slot that
// other deliveries need. It uses the real clock, as all connection timeouts do.
type pace struct {
	flight *flight
	end    time.Time // deadline for the complete body, at any speed
	rate   int64     // bytes per second after the grace period
}

func (rx *reception) newPace() pace {
	opts := &rx.gateway.opts
	return pace{flight: &rx.flight, end: rx.flight.began.Add(opts.ReadTimeout), rate: int64(opts.MinBodyRate)}
}

// expect sets the deadline for the next byte: the grace period, plus the time that the received
// bytes take at the required rate. The deadline is never later than the deadline for the complete
// body. Errors are ignored: the caller's own server may not support deadlines (see
// Gateway.Handler), and the next read fails on a broken connection.
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
		p.flight.cut() // the flight was evicted before this deadline was set
	}
}

// scarce reports whether a body that did not arrive in time was given less time than usual.
func (p *pace) scarce() bool {
	return p.flight.thrownOut.Load() || p.flight.hurried && time.Since(p.flight.began) < paceGrace
}

// done removes the deadline once the body is read. net/http keeps reading to notice a sender
// that hangs up, and that read may take any time.
func (p *pace) done() { _ = p.flight.connection.SetReadDeadline(time.Time{}) }
