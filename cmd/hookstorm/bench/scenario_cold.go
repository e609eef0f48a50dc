package bench

import (
	"context"
	"fmt"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/report"
	"github.com/hooklatch/hooklatch/cmd/hookstorm/cluster"
)

// coldTurn measures lifecycles on tables that were never analysed, with autovacuum off, and on an
// analysed copy of the same tables.
func coldTurn(ctx context.Context, b *bench) error {
	server, err := b.ownServer(ctx, schemaHooklatch, cluster.Options{Settings: map[string]string{"autovacuum": "off"}})
	if err != nil {
		return err
	}
	data, err := server.copy(ctx, original)
	if err != nil {
		return err
	}
	n := b.sizes.data
	if err := b.playLife(ctx, living, database{server, data, true}, func(s *scene, client *load.Client) error {
		return s.rehearse(ctx, client, n)
	}); err != nil {
		return fmt.Errorf("fill the tables: %w", err)
	}
	return b.alternately(func(analysed bool) error {
		name, err := server.copy(ctx, data)
		if err != nil {
			return err
		}
		return b.play(ctx, living, database{server: server, name: name}, func(s *scene) error {
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
			return s.live(ctx, client, n, report.SectionCold, who)
		})
	})
}
