package gateway

import (
	"net/netip"
	"time"

	"github.com/hooklatch/hooklatch/internal/strangers"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Which addresses a process remembers of sources that have no quarantine. Those of the
// others are in the database.
const (
	rememberedOrigins = 16_384
	rememberedFor     = 30 * 24 * time.Hour
)

func newAcquaintances() *strangers.Known[origin] {
	return strangers.NewKnown[origin](rememberedOrigins, rememberedFor, time.Now)
}

// knowsOrigin reports whether a delivery of a source from an address was accepted before.
// It asks no database.
func (g *Gateway) knowsOrigin(src *source, address netip.Prefix) bool {
	if !address.IsValid() {
		return false
	}
	if g.keepsRefused(src) {
		return g.opts.Quarantine.Known(identity.Source(src.Name), address)
	}
	return g.acquaintances.Has(origin{source: src.Name, address: address})
}

// knowsPeer reports the same of any source, for connections: they come without one.
func (g *Gateway) knowsPeer(address netip.Prefix) bool {
	return g.acquaintances.Has(origin{address: address}) || g.opts.Quarantine != nil && g.opts.Quarantine.Known("", address)
}

// noteSender notes where an accepted delivery came from.
func (rx *reception) noteSender(r *reply) {
	if r.result != resultAccepted && r.result != resultDuplicate || !rx.flight.from.address.IsValid() {
		return
	}
	strangers.Proven(rx.echo.Request().Context())
	if rx.gateway.keepsRefused(rx.source) {
		rx.gateway.opts.Quarantine.Accepted(identity.Source(rx.source.Name), rx.flight.from.address)
		return
	}
	rx.gateway.acquaintances.Note(rx.flight.from)
	rx.gateway.acquaintances.Note(origin{address: rx.flight.from.address})
}
