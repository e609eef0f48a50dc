package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/history"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// longTransaction is the maximum age, in microseconds, at which a dispatching transaction may look
// up the newest configuration. A transaction can get that old because a fault pauses its process.
const longTransaction = 12_000_000

// deployment is a rolling deployment. Its configuration is the newest from the moment of its
// announcement.
type deployment struct {
	history.Deploy

	began     int64
	announced int64 // forever if the outcome is unknown
}

// wants returns the scopes of the effects that the configuration gives an event of this type.
func (d *deployment) wants(eventType string) []identity.Scope {
	if d.Route == "" || !slices.Contains(d.Types, eventType) {
		return nil
	}
	return []identity.Scope{identity.ScopeOfRoute(identity.Source(d.Source), d.Route)}
}

// newestDecides checks that the newest configuration plans an event, whichever process dispatches
// it. The event's effects of the changing route match a single configuration that may have been the
// newest at dispatch. Replayed events are not checked.
func (j *judge) newestDecides() {
	if len(j.deployments) == 0 {
		return
	}
	moving := make(map[identity.Scope]bool)
	for _, d := range j.deployments {
		if d.Route != "" {
			moving[identity.ScopeOfRoute(identity.Source(d.Source), d.Route)] = true
		}
	}
	for _, e := range j.events {
		if e.row == nil || string(e.ref.Source) != j.deployments[0].Source || e.row.Outcome != "dispatched" || e.row.ProcessedAt == 0 || len(e.replays) > 0 {
			continue
		}
		var has []identity.Scope
		for _, l := range e.effects {
			if moving[l.effect.id.Scope] {
				has = append(has, l.effect.id.Scope)
			}
		}
		dispatched := j.onRun(e.row.ProcessedAt)
		first, last := j.newestAt(dispatched)
		fits := slices.ContainsFunc(j.deployments[first:last+1], func(d *deployment) bool { return slices.Equal(has, d.wants(e.row.EventType)) })
		if !fits {
			d := j.deployments[first]
			j.eventViolatedf(RuleNewest, e, "it was dispatched at %s with %s of the changing route, but deployment %d, announced at %s, wants %s",
				at(dispatched), scopes(has), d.Number, at(d.announced), scopes(d.wants(e.row.EventType)))
		}
	}
}

// newestAt returns the indexes of the first and the last deployment that may have been the newest
// for a transaction that began at this time. The first is the latest deployment that was certainly
// announced by then.
func (j *judge) newestAt(began int64) (first, last int) {
	for i, d := range j.deployments {
		if d.announced != forever && d.announced+clockSlack < began {
			first = i
		}
		if d.began < began+longTransaction {
			last = i
		}
	}
	return first, max(first, last)
}

func scopes(s []identity.Scope) string {
	if len(s) == 0 {
		return "nothing"
	}
	return fmt.Sprint(s)
}

// deploy records a deployment. Before the first deployment, it adds one that began with the run.
func (g *gatherer) deploy(r *history.Record) error {
	if r.Deploy == nil {
		return missing(r, noMember)
	}
	if r.Kind == history.Invoke {
		if len(g.facts.deployments) == 0 {
			g.facts.deployments = append(g.facts.deployments, &deployment{Deploy: history.Deploy{Source: r.Deploy.Source}})
		}
		d := &deployment{Deploy: *r.Deploy, began: r.At, announced: forever}
		g.facts.deployments = append(g.facts.deployments, d)
		g.deploys[r.ID] = d
		return nil
	}
	d, err := end(g.deploys, r)
	if err != nil {
		return err
	}
	d.announced = endOf(r)
	first, _, _ := strings.Cut(d.Order, ", ")
	g.totals.count(string(history.OpDeploy), strings.Trim(d.Change+", "+first, ", "))
	return nil
}
