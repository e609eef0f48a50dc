package schema

import (
	"context"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
)

// SetPatience shortens a migration's wait for a busy table.
func (m *Migrator) SetPatience(d time.Duration) { m.patience = d }

// AddMigration adds a migration after the last one.
func (m *Migrator) AddMigration(up string) {
	m.migrations = append(m.migrations, migration{version: len(m.migrations) + 1, name: "added", up: up, checksum: checksum(up)})
}

// RestoreRiverIndexes is the step that Up runs before it applies River's migrations from
// present+1 to last.
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
