package schema

import (
	"context"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
)

// SetPatience sets how long a migration is tried again while a table is in use.
func (m *Migrator) SetPatience(d time.Duration) { m.patience = d }

// AddMigration adds a migration after the last one.
func (m *Migrator) AddMigration(up string) {
	m.migrations = append(m.migrations, migration{version: len(m.migrations) + 1, name: "added", up: up, checksum: checksum(up)})
}

// RestoreRiverIndexes is the step that Up runs before it applies River's migrations from
// present+1 to last. It reports whether it restored the indexes.
func (m *Migrator) RestoreRiverIndexes(ctx context.Context, tx pgx.Tx, present, last int) (bool, error) {
	return m.restoreRiverIndexes(ctx, tx, present, last)
}

// ReadMigrations returns the names of the migrations in a directory.
func ReadMigrations(files fs.FS, dir string) ([]string, error) {
	migrations, err := readMigrations(files, dir)
	var names []string
	for _, m := range migrations {
		names = append(names, m.String())
	}
	return names, err
}
