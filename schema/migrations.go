package schema

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is one numbered change to our schema, written for the default schema name.
type migration struct {
	version  int
	name     string
	up, down string
	checksum string // sha-256 of up, hex
}

func (m migration) String() string { return fmt.Sprintf("%04d_%s", m.version, m.name) }

var migrationName = regexp.MustCompile(`^(\d{4})_([a-z0-9_]+)\.(up|down)\.sql$`)

// readMigrations returns a directory's migrations in order. It returns an error unless the numbers
// begin at 1 without gaps and every migration has both directions.
func readMigrations(files fs.FS, dir string) ([]migration, error) {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var all []migration
	for _, entry := range entries { // sorted: NNNN_name.down before NNNN_name.up
		parts := migrationName.FindStringSubmatch(entry.Name())
		if parts == nil {
			return nil, fmt.Errorf("read migrations: %s is not named NNNN_name.up.sql or NNNN_name.down.sql", entry.Name())
		}
		text, err := fs.ReadFile(files, path.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		version, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, fmt.Errorf("read migrations: %w", err)
		}
		if len(all) == 0 || all[len(all)-1].version != version {
			if version != len(all)+1 {
				return nil, fmt.Errorf("read migrations: %s should have the number %04d", entry.Name(), len(all)+1)
			}
			all = append(all, migration{version: version, name: parts[2]})
		}
		last := &all[len(all)-1]
		if last.name != parts[2] {
			return nil, fmt.Errorf("read migrations: %04d is both %s and %s", version, last.name, parts[2])
		}
		if parts[3] == "down" {
			last.down = string(text)
			continue
		}
		last.up = string(text)
		last.checksum = checksum(last.up)
	}
	for _, m := range all {
		if m.up == "" || m.down == "" {
			return nil, fmt.Errorf("read migrations: %s needs an up file and a down file", m)
		}
	}
	return all, nil
}

// checksum returns the SHA-256 of a text in hex. It treats CRLF as LF, because line endings differ
// between checkouts.
func checksum(text string) string {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(text, "\r\n", "\n")))
	return hex.EncodeToString(sum[:])
}

// Hash identifies the schema that Up creates in an empty database, including River's part. Two
// binaries with the same hash create the same schema.
func Hash() string {
	sum := sha256.New()
	for _, files := range []embed.FS{migrationFiles, queryFiles} {
		// Reading embedded files cannot fail.
		_ = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := files.ReadFile(name)
			fmt.Fprintf(sum, "%s\x00%s\x00", name, text)
			return err
		})
	}
	for _, version := range riverVersions() {
		fmt.Fprintf(sum, "river %d\x00%s\x00", version.Version, version.SQLUp)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}
