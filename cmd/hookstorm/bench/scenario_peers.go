package bench

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"time"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
)

//go:embed query/unfinished_of_river.sql
var unfinishedOfRiverSQL string

//go:embed query/done_of_river.sql
var doneOfRiverSQL string

// peers lists the subjects that are measured in turn: Hooklatch in two processes, Hooklatch in
// one process, and the River program, which migrates its database itself.
func peers() []subject {
	return []subject{
		living,
		{name: report.Serve, schema: schemaHooklatch, roles: []string{roleServe}},
		{name: report.RiverProgram, schema: schemaNone, roles: []string{roleRiver}, left: unfinishedOfRiverSQL, done: doneOfRiverSQL},
	}
}

// riverAccepting is the River program without deliveries. It is compared with a gateway.
var riverAccepting = subject{name: report.RiverProgram, schema: schemaNone, roles: []string{roleRiver}, acceptOnly: true}

// peersTurn measures Hooklatch and the River program in turn. The first subject changes from round
// to round.
func peersTurn(ctx context.Context, b *bench) error {
	if err := b.buildRiver(ctx); err != nil {
		return err
	}
	for round := range b.rounds {
		if err := b.peersAccept(ctx); err != nil {
			return err
		}
		all := peers()
		for _, part := range []func(ctx context.Context, who subject) error{b.peerLife, b.peerDrain, b.peerIdle} {
			for i := range all {
				if err := part(ctx, all[(i+round)%len(all)]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// peersAccept measures accepting, and the memory of the process that accepts.
func (b *bench) peersAccept(ctx context.Context) error {
	return b.compete(ctx, []subject{accepting, riverAccepting}, load.Options{}, b.sizes.warm, func(both []*contestant) error {
		if err := b.inTurn(ctx, report.SectionPeersAccept, b.sizes.accept, both); err != nil {
			return err
		}
		for _, c := range both {
			b.memory(report.SectionPeersAccept, c.name, c.scene)
		}
		return nil
	})
}

// peerLife measures full lifecycles, and the memory of all processes.
func (b *bench) peerLife(ctx context.Context, who subject) error {
	return b.playLife(ctx, who, database{}, func(s *scene, client *load.Client) error {
		if err := s.live(ctx, client, b.opts.Events, report.SectionPeersLife, who.name); err != nil {
			return err
		}
		b.memory(report.SectionPeersLife, who.name, s)
		return nil
	})
}

// peerIdle measures single events on an idle system.
func (b *bench) peerIdle(ctx context.Context, who subject) error {
	return b.playLife(ctx, who, database{}, func(s *scene, client *load.Client) error {
		return s.singly(ctx, client, report.SectionPeersIdle)
	})
}

// peerDrain accepts events while a subject's deliveries are paused, and measures how the subject
// delivers the events after the pause.
func (b *bench) peerDrain(ctx context.Context, who subject) error {
	return b.playLife(ctx, who, database{}, func(s *scene, client *load.Client) error {
		n := b.opts.Backlog
		if err := s.instruct(ctx, "pause"); err != nil {
			return err
		}
		run, err := client.Closed(ctx, n)
		if err != nil {
			return err
		}
		if who.schema == schemaHooklatch {
			if err := s.awaitDispatched(ctx); err != nil {
				return err
			}
		}
		if came, _ := b.receiver.seen(); len(came) > 0 {
			return fmt.Errorf("%s delivered %d events while it was paused", who.name, len(came))
		}
		before, err := s.account(ctx)
		if err != nil {
			return err
		}
		resumed := time.Now()
		if err := s.instruct(ctx, "resume"); err != nil {
			return err
		}
		if _, err := s.allDone(ctx, run.Began, n); err != nil {
			return err
		}
		came, _ := b.receiver.seen()
		add := func(q report.Quantity, value float64) { b.report.Add(report.SectionPeersDrain, who.name, q, value) }
		add(report.Rate, middle(came))
		add(report.FirstDelivery, came[0].Sub(resumed).Seconds())
		add(report.Drained, came[n-1].Sub(resumed).Seconds())
		return s.costsSince(ctx, report.SectionPeersDrain, who.name, n, before)
	})
}

// instruct pauses or resumes a subject's deliveries, as an operator does.
func (s *scene) instruct(ctx context.Context, verb string) error {
	if s.who.schema == schemaHooklatch {
		_, err := s.command(ctx, "destinations", verb, "app")
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.processes[0].events+"/"+verb, http.NoBody)
	if err != nil {
		return fmt.Errorf("%s %s: %w", verb, s.who.name, err)
	}
	request.Close = true
	client := &http.Client{Timeout: readyTimeout}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", verb, s.who.name, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: it answered %s", verb, s.who.name, answer.Status)
	}
	return nil
}
