// Package senders sends the traffic of a torture run or a sweep. It sends signed deliveries of all
// sources, repeats them as providers do, and sends deliveries that must be refused. It records each
// delivery with the response that the sender received.
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
	// Gateways share the deliveries, as if they were behind a load balancer. Required.
	Gateways []Gateway
	// Seed decides the traffic. The results are not deterministic.
	Seed int64
	// Rate is the total number of new events per second. Defaults to 80.
	Rate float64
	// Sources lists the sources to send for. Defaults to the scenario's sources.
	Sources []scenario.Source
	// SendersPerSource is the number of senders that share the events of a source. Defaults
	// to 2.
	SendersPerSource int
	// Haste divides the deadlines of the providers. Defaults to 5.
	Haste float64
	// Compression divides the waits before providers' retries. Defaults to 600: an hour becomes
	// 6 s, if MaxWait allows that.
	Compression float64
	// MaxWait bounds the wait between two attempts, before its random variation. Defaults to 2 s.
	MaxWait time.Duration
	// MaxOpen is the number of open events at which the regular traffic starts no new ones. Storm
	// and Poison ignore the limit. Defaults to 500.
	MaxOpen int
}

// Gateway is a target of deliveries. The history contains its name.
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

// dice returns the source of random decisions for one subject. The decisions are the same for equal
// seeds.
func dice(seed, subject int64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), uint64(subject))) //nolint:gosec // the numbers must be repeatable, not secret
}
