package schema

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// newRiver returns River's own migrator for the schema. It works in our transactions, so it
// needs no pool.
func newRiver(name Name) (*rivermigrate.Migrator[pgx.Tx], error) {
	return rivermigrate.New(riverpgxv5.New(nil), &rivermigrate.Config{
		Schema: string(name),
		Logger: slog.New(slog.DiscardHandler), // we report its steps together with ours
	})
}

// riverVersions returns River's migrations in order.
func riverVersions() []rivermigrate.Migration {
	river, err := newRiver(Default)
	if err != nil {
		return nil // cannot happen: River's default line of migrations exists
	}
	return river.AllVersions()
}

// riverVersion returns the version of River's newest applied migration, or 0.
func (m *Migrator) riverVersion(ctx context.Context, tx pgx.Tx) (int, error) {
	exists, err := m.ask(ctx, tx, m.sql.RiverExists)
	if err != nil || !exists {
		return 0, err
	}
	var version int
	if err := m.sql.RiverVersion.QueryRow(ctx, tx).Scan(&version); err != nil {
		return 0, fmt.Errorf("read River's version: %w", err)
	}
	return version, nil
}

// upRiver applies River's first pending migration, if any.
func (m *Migrator) upRiver(ctx context.Context, tx pgx.Tx) ([]Step, error) {
	present, err := m.riverVersion(ctx, tx)
	if err != nil || present >= m.wantedRiver() {
		return nil, err
	}
	next := m.wantedRiver()
	for _, version := range m.river.AllVersions() {
		if version.Version > present {
			next = min(next, version.Version)
		}
	}
	restored, err := m.restoreRiverIndexes(ctx, tx, present, next)
	if err != nil {
		return nil, err
	}
	// MigrateTx is deprecated because some migrations add an enum value, which no statement may use
	// in the same transaction. Each migration has a separate transaction here.
	//nolint:staticcheck // deprecated: see above
	result, err := m.river.MigrateTx(ctx, tx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: next})
	if err != nil {
		return nil, fmt.Errorf("River: %w", err)
	}
	if restored {
		if _, err := m.sql.RiverIndexesDrop.Exec(ctx, tx); err != nil {
			return nil, fmt.Errorf("drop River's indexes again: %w", err)
		}
	}
	return riverSteps(result), nil
}

// restoreRiverIndexes restores the indexes that our migrations dropped if one of River's migrations
// from present+1 to last mentions any of them. It reports whether it restored them. Otherwise it
// leaves them dropped: on a large table, building them would block all inserts meanwhile.
func (m *Migrator) restoreRiverIndexes(ctx context.Context, tx pgx.Tx, present, last int) (bool, error) {
	named := false
	for _, version := range m.river.AllVersions() {
		if version.Version > present && version.Version <= last && namesRiverIndexes(version.SQLUp) {
			named = true
		}
	}
	exists, err := m.ask(ctx, tx, m.sql.RiverJobExists)
	if err != nil || !named || !exists {
		return false, err
	}
	if _, err := m.sql.RiverIndexesRestore.Exec(ctx, tx); err != nil {
		return false, fmt.Errorf("restore River's indexes: %w", err)
	}
	return true, nil
}

// droppedRiverIndexes matches the indexes that our migrations drop.
var droppedRiverIndexes = regexp.MustCompile(`\b(river_job_args_index|river_job_kind|river_job_metadata_index)\b`)

func namesRiverIndexes(sql string) bool { return droppedRiverIndexes.MatchString(sql) }

// downRiver removes River's tables.
func (m *Migrator) downRiver(ctx context.Context, tx pgx.Tx) ([]Step, error) {
	//nolint:staticcheck // See upRiver.
	result, err := m.river.MigrateTx(ctx, tx, rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{TargetVersion: -1})
	if err != nil {
		return nil, fmt.Errorf("River: %w", err)
	}
	return riverSteps(result), nil
}

// wantedRiver returns the version of River's newest migration in this binary.
func (m *Migrator) wantedRiver() int {
	versions := m.river.AllVersions()
	return versions[len(versions)-1].Version
}

func riverSteps(result *rivermigrate.MigrateResult) []Step {
	var steps []Step
	for _, version := range result.Versions {
		steps = append(steps, Step{
			Owner:     OwnerRiver,
			Version:   version.Version,
			Name:      strings.ReplaceAll(version.Name, " ", "_"),
			Direction: string(result.Direction),
			Duration:  version.Duration,
		})
	}
	return steps
}
