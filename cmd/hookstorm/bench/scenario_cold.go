package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
)

// coldTurn lives on tables that nobody ever analysed, with autovacuum off, beside an
// analysed copy of the same tables.
func coldTurn(ctx context.Context, b *bench) (err error) {
	server, err := b.startPostgres(ctx, schemaHooklatch, cluster.Options{Settings: map[string]string{"autovacuum": "off"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop(context.WithoutCancel(ctx))) }()
	data, err := b.fillByLiving(ctx, server, b.sizes.data)
	if err != nil {
		return fmt.Errorf("fill the tables: %w", err)
	}
	for round := range b.rounds {
		turns := []bool{false, true}
		if round%2 == 1 {
			turns = []bool{true, false}
		}
		for _, analysed := range turns {
			if err := b.liveOnCopy(ctx, server, data, analysed); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillByLiving makes a database in which n events have lived, and returns its name.
func (b *bench) fillByLiving(ctx context.Context, server *postgres, n int) (_ string, err error) {
	name, err := server.copy(ctx, original)
	if err != nil {
		return "", err
	}
	s, err := b.enterOn(ctx, living, server, name)
	if err != nil {
		return "", err
	}
	s.keep = true
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	client, err := s.warmUp(ctx)
	if err != nil {
		return "", err
	}
	defer client.Close()
	if _, err := client.Closed(ctx, n); err != nil {
		return "", err
	}
	if err := b.receiver.await(ctx, n); err != nil {
		return "", err
	}
	return name, s.awaitQuiet(ctx)
}

// liveOnCopy measures lives on a copy of a database.
func (b *bench) liveOnCopy(ctx context.Context, server *postgres, data string, analysed bool) (err error) {
	name, err := server.copy(ctx, data)
	if err != nil {
		return err
	}
	s, err := b.enterOn(ctx, living, server, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.leave(context.WithoutCancel(ctx))) }()
	who := report.NeverAnalysed
	if analysed {
		who = report.Analysed
		if _, err := s.watch.Exec(ctx, "ANALYZE"); err != nil {
			return fmt.Errorf("analyse the tables: %w", err)
		}
	}
	client, err := s.warmUp(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	return s.live(ctx, client, b.sizes.data, report.SectionCold, who)
}
