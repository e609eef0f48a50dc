package gateway

import (
	"net/http"
	"time"
)

// paceGrace is for how long a body may come as slowly as it likes.
const paceGrace = 2 * time.Second

// pace cuts off a body that comes too slowly: a sender that dribbles holds a place
// that others want. The clock is the real one, as it is for all time-outs of a
// connection.
type pace struct {
	connection *http.ResponseController
	began      time.Time
	end        time.Time // of the whole body, however fast it comes
	rate       int64     // bytes a second, after paceGrace
}

func (g *Gateway) newPace(w http.ResponseWriter) *pace {
	now := time.Now()
	return &pace{connection: http.NewResponseController(w), began: now, end: now.Add(g.opts.ReadTimeout), rate: int64(g.opts.MinBodyRate)}
}

// expect gives the next byte the time that what has been received earned. A
// server of the caller's may know no deadlines (see Gateway.Handler); a broken
// connection shows when it is read.
func (p *pace) expect(received int) {
	earned := time.Duration(float64(received) / float64(p.rate) * float64(time.Second))
	deadline := p.began.Add(paceGrace + earned)
	if deadline.After(p.end) {
		deadline = p.end
	}
	_ = p.connection.SetReadDeadline(deadline)
}

// done ends it with the body. net/http goes on reading, to see whether the
// sender hangs up: that may take any time.
func (p *pace) done() { _ = p.connection.SetReadDeadline(time.Time{}) }
