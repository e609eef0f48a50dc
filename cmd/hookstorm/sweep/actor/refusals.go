package main

import (
	"context"
	"net/netip"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/quarantine"
)

// refusal keeps a refused delivery, as gateways do, and removes deliveries from quarantine, as
// operators do. It ignores errors, because this process expects them.
func (a *actor) refusal(ctx context.Context, round int) error {
	from := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(round)}), 32) //nolint:gosec // any address works
	a.keeper.Accepted("main", from)
	body := []byte("{}")
	a.keeper.Keep("main", from, len(body), func() quarantine.Refused {
		return quarantine.Refused{Source: "main", Reason: "wrong_signature", From: from, Method: "POST", Host: "localhost", Target: "/webhooks/main", Body: body}
	})
	found, err := a.quarantine.Next(ctx, quarantine.Filter{}, quarantine.Mark{}, 2)
	if err != nil || len(found) == 0 {
		return nil //nolint:nilerr // the next round tries again
	}
	by := ledger.Operator{Who: who, Via: "sweep"}
	_ = a.quarantine.Accepted(ctx, found[0].ID, by)
	_, _ = a.quarantine.Drop(ctx, found[len(found)-1].ID, by)
	return nil
}

// retry delivers an event again as a marked retry of its sender.
func (a *actor) retry(ctx context.Context, _ int) error {
	ids, err := texts(ctx, a.pool, `SELECT event_id FROM hooklatch.processed_events WHERE source = 'main' LIMIT 1`)
	if err != nil || len(ids) == 0 {
		return nil //nolint:nilerr // the next round tries again
	}
	_, _ = a.box.Accept(ctx, outbox.Delivery{
		Source: "main", Provider: "hmac", RetryNumber: 1, RetryReason: "http_timeout",
		Events: []outbox.Incoming{{ID: identity.EventID(ids[0]), Type: "usual"}},
	})
	return nil
}
