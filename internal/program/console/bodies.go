package console

import (
	"context"
	"fmt"
	"net/http"
)

const (
	// shownBodies is the maximum number of requests that have a body in memory for a page.
	shownBodies = 8
	// sentBodies is the maximum number of downloads at the same time.
	sentBodies = 8
)

// bodies limits the bodies of events and effects that are in memory at the same time. A body may be
// as large as the largest delivery.
type bodies struct {
	shown     chan struct{} // one value for each body that a page needs
	sent      chan struct{} // one value for each download
	downloads turns
}

func newBodies() bodies {
	return bodies{shown: make(chan struct{}, shownBodies), sent: make(chan struct{}, sentBodies), downloads: newTurns()}
}

func (b *bodies) place() *bodyPlace { return &bodyPlace{of: b.shown} }

// bodyPlace is a request's place among the bodies in memory. It is taken when the request reads a
// body, and free again before the response is written, because a client may read slowly.
type bodyPlace struct {
	of    chan struct{}
	taken bool
}

// take waits for a place, unless the request has one.
func (p *bodyPlace) take(ctx context.Context) error {
	if p.taken {
		return nil
	}
	select {
	case p.of <- struct{}{}:
		p.taken = true
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a place in memory for a body: %w", ctx.Err())
	}
}

func (p *bodyPlace) free() {
	if p.taken {
		p.taken = false
		<-p.of
	}
}

// inDownload returns a page that sends a body as a download. Each user has one download at a time,
// because the body is in memory until the client has read it.
func inDownload(p page) page {
	return func(r *request) error {
		end, ok := r.bodies.downloads.begin(r.Context(), r.person)
		if !ok {
			r.w.Header().Set("Retry-After", "1")
			return &problem{
				status: http.StatusTooManyRequests, heading: "Another of your downloads is running",
				text: fmt.Sprintf("Each user can download one body at a time, and at most %d more downloads can wait. Try again in a moment.", waitingTurns),
			}
		}
		defer end()
		ctx, cancel := context.WithTimeout(r.Context(), turnWait)
		defer cancel()
		select {
		case r.bodies.sent <- struct{}{}:
		case <-ctx.Done():
			r.w.Header().Set("Retry-After", "1")
			return &problem{
				status: http.StatusTooManyRequests, heading: "Too many downloads are running",
				text: fmt.Sprintf("The console sends at most %d bodies at the same time. Try again in a moment.", sentBodies),
			}
		}
		defer func() { <-r.bodies.sent }()
		return p(r)
	}
}
