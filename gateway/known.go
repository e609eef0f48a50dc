package gateway

import (
	"net/netip"
	"time"

	"github.com/hooklatch/hooklatch/internal/strangers"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// Limits for the addresses that a process remembers: see Gateway.acquaintances. For sources with
// a quarantine, the database stores the addresses.
const (
	rememberedOrigins = 16_384
	rememberedFor     = 30 * 24 * time.Hour
)

func newAcquaintances() *strangers.Known[origin] {
	return strangers.NewKnown[origin](rememberedOrigins, rememberedFor, time.Now)
}

// knowsOrigin reports whether an accepted delivery from this address to this source is remembered.
// It does not query the database.
func (g *Gateway) knowsOrigin(src *source, address netip.Prefix) bool {
	if !address.IsValid() {
		return false
	}
	if g.keepsRefused(src) {
		return src.cell.Quarantine.Known(identity.Source(src.Name), address)
	}
	return g.acquaintances.Has(origin{source: src.Name, address: address})
}

// knowsPeer reports whether an accepted delivery from this address to any source is remembered. A
// new connection does not belong to a source yet. knowsPeer does not ask the cells' quarantines:
// the set acquaintances also contains the addresses of deliveries that cells have accepted since
// the process started.
func (g *Gateway) knowsPeer(address netip.Prefix) bool {
	return g.acquaintances.Has(origin{address: address}) || g.opts.Quarantine != nil && g.opts.Quarantine.Known("", address)
}

// noteSender records the client address of an accepted or duplicate delivery.
func (rx *reception) noteSender(r *reply) {
	if r.result != resultAccepted && r.result != resultDuplicate || !rx.flight.from.address.IsValid() {
		return
	}
	strangers.Proven(rx.echo.Request().Context())
	if rx.gateway.keepsRefused(rx.source) {
		rx.source.cell.Quarantine.Accepted(identity.Source(rx.source.Name), rx.flight.from.address)
		if rx.source.Cell == nil {
			return
		}
	} else {
		rx.gateway.acquaintances.Note(rx.flight.from)
	}
	rx.gateway.acquaintances.Note(origin{address: rx.flight.from.address})
}
