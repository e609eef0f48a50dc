package console

import (
	"context"
	"fmt"
	"net/http"
)

const (
	// shownBodies is the maximum number of requests that have a stored body in memory for a page at
	// the same time.
	shownBodies = 8
	// exportedBodies is the maximum number of requests that read a body from the export for a page
	// at the same time.
	exportedBodies = 8
	// sentBodies is the maximum number of downloads at the same time.
	sentBodies = 8
)

// bodies limits the bodies of events and effects that are in memory at the same time. A body may be
// as large as the largest delivery.
type bodies struct {
	shown     chan struct{} // one value for each stored body that a page needs
	exported  chan struct{} // one value for each body from the export that a page needs
	sent      chan struct{} // one value for each download
	downloads turns
}

func newBodies() bodies {
	return bodies{
		shown: make(chan struct{}, shownBodies), exported: make(chan struct{}, exportedBodies), sent: make(chan struct{}, sentBodies),
		downloads: newTurns(),
	}
}

func (b *bodies) place() *bodyPlace { return &bodyPlace{of: b} }

// bodyPlace is a request's place among the bodies in memory. It is taken when the request reads a
// body, and free again before the response is written, because a client may read slowly.
type bodyPlace struct {
	of     *bodies
	in     chan struct{} // where the place is taken, or nil
	waived bool          // true if the request needs no place
}

// waive lets the request read bodies without a place.
func (p *bodyPlace) waive() { p.waived = true }

// take waits for a place for a stored body, unless the request has a place or needs none. It
// returns a *busyError if no place becomes free in time.
func (p *bodyPlace) take(ctx context.Context) error {
	if p.waived || p.in != nil {
		return nil
	}
	return p.wait(ctx, p.of.shown, "from the database")
}

// takeExported frees the request's other place, and waits for a place for a body from the export.
// Errors: *busyError.
func (p *bodyPlace) takeExported(ctx context.Context) error {
	if p.waived || p.in == p.of.exported {
		return nil
	}
	p.free()
	return p.wait(ctx, p.of.exported, "from the export")
}

func (p *bodyPlace) wait(ctx context.Context, places chan struct{}, from string) error {
	ctx, cancel := context.WithTimeout(ctx, turnWait)
	defer cancel()
	select {
	case places <- struct{}{}:
		p.in = places
		return nil
	case <-ctx.Done():
		return &busyError{most: cap(places), from: from}
	}
}

func (p *bodyPlace) free() {
	if p.in != nil {
		<-p.in
		p.in = nil
	}
}

// busyError is returned when no place for a body has become free in time.
type busyError struct {
	most int
	from string
}

// Error implements error.
func (e *busyError) Error() string {
	return fmt.Sprintf("%d bodies %s are in memory already", e.most, e.from)
}

// inDownload returns a page that sends a body as a download. Each user has one download at a time,
// because the body is in memory until the client has read it.
func inDownload(p page) page {
	return func(r *request) error {
		ctx, cancel := context.WithTimeout(r.Context(), turnWait)
		defer cancel()
		end, ok := r.bodies.downloads.begin(ctx, r.person)
		if !ok {
			r.w.Header().Set("Retry-After", "1")
			return &problem{
				status: http.StatusTooManyRequests, heading: "Another of your downloads is running",
				text: fmt.Sprintf("Each user can download one body at a time, and at most %d more downloads can wait. Try again in a moment.", waitingTurns),
			}
		}
		defer end()
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
		r.place.waive() // the download has a place
		return p(r)
	}
}
