// Package senders sends the traffic of a torture run: signed deliveries of all sources,
// repeated the way providers do, and deliveries that must be refused, each recorded with
// the answer its sender received.
package senders

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/scenario"
)

// Options configure Senders.
type Options struct {
	// History gets a delivery for every request. Required.
	History *history.Writer
	// Gateways that deliveries go to, as through a load balancer. Required.
	Gateways []Gateway
	// Seed decides what is sent. What comes of it takes its own course.
	Seed int64
	// Rate is how many new events begin in a second, in all. Defaults to 80.
	Rate float64
	// Sources that are sent to. Defaults to those of the scenario.
	Sources []scenario.Source
	// SendersPerSource share the events of a source. Defaults to 2.
	SendersPerSource int
	// Haste divides the deadlines of the providers. Defaults to 5.
	Haste float64
	// Compression divides the times after which providers try again. Defaults to
	// 600: an hour takes 6 s.
	Compression float64
	// MaxWait bounds the time between two attempts. Defaults to 2 s.
	MaxWait time.Duration
	// MaxOpen is how many events may wait for their acknowledgement; while they
	// do, no new ones begin. Defaults to 500.
	MaxOpen int
}

// Gateway is one that takes deliveries.
type Gateway struct {
	Name string
	URL  string // scheme, host and port
}

func (o Options) withDefaults() Options {
	if o.Sources == nil {
		o.Sources = scenario.Sources()
	}
	o.Rate, o.SendersPerSource = cmp.Or(o.Rate, 80), cmp.Or(o.SendersPerSource, 2)
	o.Haste, o.Compression = cmp.Or(o.Haste, 5), cmp.Or(o.Compression, 600)
	o.MaxWait, o.MaxOpen = cmp.Or(o.MaxWait, 2*time.Second), cmp.Or(o.MaxOpen, 500)
	return o
}

// dice are the random decisions of one subject, the same for equal seeds.
func dice(seed, subject int64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), uint64(subject))) //nolint:gosec // a seed is to be repeated, not to be secret
}
