package schema

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/statement"
)

// Status is the state of a database's schema.
type Status struct {
	Schema     Name              `json:"schema"`
	Migrations []MigrationStatus `json:"migrations"`
	River      RiverStatus       `json:"river"`
	DaysAhead  int               `json:"days_ahead"` // consecutive days after today that have all partitions; -1 if a partition of today is missing
}

// MigrationStatus is the state of one Hooklatch migration.
type MigrationStatus struct {
	Version   int        `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at"` // nil: pending
	Changed   bool       `json:"changed"`    // the text in this program differs from the applied migration
	Unknown   bool       `json:"unknown"`    // applied by a newer program
}

// String implements fmt.Stringer.
func (s MigrationStatus) String() string { return fmt.Sprintf("%04d_%s", s.Version, s.Name) }

// RiverStatus is the version of River's tables. A version newer than wanted is fine, because
// River changes its tables compatibly.
type RiverStatus struct {
	Present int `json:"present"` // 0: no tables
	Wanted  int `json:"wanted"`
}

// applied is a row of schema_migrations.
type applied struct {
	name     string
	at       time.Time
	checksum string
}

// Status reads the schema's state. A database without the schema causes no error.
func (m *Migrator) Status(ctx context.Context) (Status, error) {
	status := Status{Schema: m.name, DaysAhead: -1, River: RiverStatus{Wanted: m.wantedRiver()}}
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, m.pool, options, func(tx pgx.Tx) error {
		applied := map[int]applied{}
		exists, err := m.ask(ctx, tx, m.sql.HistoryExists)
		if err != nil {
			return err
		}
		if exists {
			if applied, err = m.history(ctx, tx); err != nil {
				return err
			}
		}
		status.Migrations = m.migrationStatus(applied)
		if status.River.Present, err = m.riverVersion(ctx, tx); err != nil {
			return err
		}
		exists, err = m.ask(ctx, tx, m.sql.PartitionsExist)
		if err != nil || !exists {
			return err
		}
		return m.sql.PartitionsAhead.QueryRow(ctx, tx).Scan(&status.DaysAhead)
	})
	if err != nil {
		return Status{}, fmt.Errorf("read schema status: %w", err)
	}
	return status, nil
}

func (m *Migrator) migrationStatus(applied map[int]applied) []MigrationStatus {
	var all []MigrationStatus
	for _, migration := range m.migrations {
		one := MigrationStatus{Version: migration.version, Name: migration.name}
		if record, ok := applied[migration.version]; ok {
			one.AppliedAt = &record.at
			one.Changed = record.checksum != migration.checksum
		}
		all = append(all, one)
	}
	for _, version := range slices.Sorted(maps.Keys(applied)) {
		if record := applied[version]; version > len(m.migrations) {
			all = append(all, MigrationStatus{Version: version, Name: record.name, AppliedAt: &record.at, Unknown: true})
		}
	}
	return all
}

// ErrPending is wrapped by the error of Validate if this program needs migrations that are not
// applied.
var ErrPending = errors.New("run: hooklatch migrate up")

// Validate returns nil if this program can work with the database's schema, or an error that
// explains what is missing and how to repair it. A schema that a newer program has migrated
// further is fine, because a rolling update may be in progress.
func (m *Migrator) Validate(ctx context.Context) error {
	status, err := m.Status(ctx)
	if err != nil {
		return err
	}
	var missing, changed []string
	for _, one := range status.Migrations {
		switch {
		case one.AppliedAt == nil:
			missing = append(missing, fmt.Sprintf("migration %s is pending", one))
		case one.Changed:
			changed = append(changed, fmt.Sprintf("migration %s differs from the applied migration", one))
		}
	}
	if river := status.River; river.Present < river.Wanted {
		missing = append(missing, fmt.Sprintf("River's tables have version %d, but version %d is required", river.Present, river.Wanted))
	}
	if len(missing) > 0 {
		return fmt.Errorf("schema %q is not ready: %s; %w", string(m.name), strings.Join(append(missing, changed...), "; "), ErrPending)
	}
	if len(changed) > 0 {
		return fmt.Errorf("schema %q was created by another program: %s; use the program that created it, or compare both programs and correct the checksum in %s.schema_migrations", string(m.name), strings.Join(changed, "; "), m.name)
	}
	return nil
}

// history returns the rows in schema_migrations, by version.
func (m *Migrator) history(ctx context.Context, tx pgx.Tx) (map[int]applied, error) {
	rows, err := m.sql.History.Query(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("read applied migrations: %w", err)
	}
	found := map[int]applied{}
	var version int
	var record applied
	_, err = pgx.ForEachRow(rows, []any{&version, &record.name, &record.at, &record.checksum}, func() error {
		found[version] = record
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read applied migrations: %w", err)
	}
	return found, nil
}

// ask runs a query that returns true or false.
func (m *Migrator) ask(ctx context.Context, db statement.DB, question statement.Bound) (bool, error) {
	var yes bool
	if err := question.QueryRow(ctx, db).Scan(&yes); err != nil {
		return false, fmt.Errorf("ask %s: %w", question.Name(), err)
	}
	return yes, nil
}

func (m *Migrator) schemaExists(ctx context.Context, tx pgx.Tx) (bool, error) {
	var exists bool
	if err := m.sql.SchemaExists.With(schemaExists{Name: string(m.name)}).QueryRow(ctx, tx).Scan(&exists); err != nil {
		return false, fmt.Errorf("look up schema %s: %w", m.name, err)
	}
	return exists, nil
}
