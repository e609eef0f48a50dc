package retention

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/pipeline"
)

const (
	// AnnounceEvery is the interval at which a running process announces its retention settings.
	AnnounceEvery = 30 * time.Second
	// PresumedGone is the time without an announcement after which a process no longer counts as
	// running.
	PresumedGone = 4 * AnnounceEvery
)

// Process is a running process with its configuration.
type Process struct {
	Name       string // unique among running processes
	Kind       string // gateway, worker or serve
	Version    string
	ConfigHash string
	Settings   Settings
}

// Announce announces a running process with its retention settings. Call it every AnnounceEvery.
// Losing an announcement in a server failure is harmless. Announce therefore uses a plain
// statement, and returns when ctx is done.
func (k *Keeper) Announce(ctx context.Context, p Process) error {
	told := announce{Name: p.Name, Kind: p.Kind, Version: p.Version, ConfigHash: p.ConfigHash}
	var err error
	if told.Settings, err = json.Marshal(p.Settings.WithDefaults().stored()); err != nil {
		return fmt.Errorf("announce process: %w", err)
	}
	err = k.db.Statement("announce_process", func(db pipeline.ByIndex) error {
		_, err := k.sql.Announce.With(told).Exec(ctx, db)
		return err
	})
	if err != nil {
		return fmt.Errorf("announce process: %w", err)
	}
	return nil
}

// Withdraw removes the announcement of a process that is stopping. Like Announce, it returns when
// ctx is done.
func (k *Keeper) Withdraw(ctx context.Context, name string) error {
	err := k.db.Statement("withdraw_process", func(db pipeline.ByIndex) error {
		_, err := k.sql.Withdraw.With(withdraw{Name: name}).Exec(ctx, db)
		return err
	})
	if err != nil {
		return fmt.Errorf("withdraw process: %w", err)
	}
	return nil
}

// inEffect returns the longest value of each setting, among the given settings and the settings of
// every running process.
func (k *Keeper) inEffect(ctx context.Context, own Settings) (Settings, error) {
	all := []Settings{own.WithDefaults()}
	err := k.db.Statement("settings_of_processes", func(db pipeline.ByIndex) error {
		rows, err := k.sql.SettingsOfProcesses.With(seenWithin{SeenSeconds: PresumedGone.Seconds()}).Query(ctx, db)
		if err != nil {
			return err
		}
		told, err := pgx.CollectRows(rows, pgx.RowTo[stored])
		for _, t := range told {
			all = append(all, t.settings())
		}
		return err
	})
	if err != nil {
		return Settings{}, fmt.Errorf("settings of running processes: %w", err)
	}
	return longest(all...), nil
}
