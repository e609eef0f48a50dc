package senders

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"
)

// manner is the way a delivery is sent.
type manner string

const (
	plain    manner = ""
	atOnce   manner = "several at once"
	late     manner = "late"
	hangUp   manner = "hang up"
	slowly   manner = "slowly"
	halfOnly manner = "half only"
)

// anyManner draws the manner of a new event's first delivery.
func anyManner(dice *rand.Rand) manner {
	switch n := dice.IntN(100); {
	case n < 8:
		return atOnce
	case n < 14:
		return late
	case n < 19:
		return hangUp
	case n < 22:
		return slowly
	case n < 25:
		return halfOnly
	}
	return plain
}

var errHungUp = errors.New("the sender hung up within the body")

// reader returns the body as this manner sends it.
func (m manner) reader(ctx context.Context, body []byte, deadline time.Duration) io.Reader {
	switch m {
	case slowly:
		return &slowReader{ctx: ctx, left: body, step: len(body)/4 + 1, pause: deadline / 8}
	case halfOnly:
		return io.MultiReader(bytes.NewReader(body[:len(body)/2]), failing{})
	}
	return bytes.NewReader(body)
}

// failing is a body whose read fails.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errHungUp }

// slowReader yields a body in up to four parts, with pauses between them.
type slowReader struct {
	ctx   context.Context //nolint:containedctx // context of its only request
	left  []byte
	step  int
	pause time.Duration
	begun bool
}

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	if r.begun {
		select {
		case <-time.After(r.pause):
		case <-r.ctx.Done():
			return 0, context.Cause(r.ctx)
		}
	}
	r.begun = true
	n := copy(p, r.left[:min(r.step, len(r.left))])
	r.left = r.left[n:]
	return n, nil
}
