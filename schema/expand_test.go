package schema_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema/pgtest"
)

// Processes of the previous version run with the new schema, so a migration may only add. A
// migration of a later minor version removes the tables and columns that no process uses any more.
func TestMigrationsOnlyExpand(t *testing.T) {
	t.Parallel()
	changelog, err := os.ReadFile("../CHANGELOG.md")
	require.NoError(t, err)
	isReleased := func(minor string) bool { return strings.Contains(string(changelog), "\n## ["+minor+".0]") }
	files, err := filepath.Glob("migrations/*.up.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		number, err := strconv.Atoi(filepath.Base(file)[:4])
		require.NoError(t, err)
		if number <= lastUnmarked {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, lintMigration(string(text), isReleased), file)
	}
}

// Indexes on existing tables are built outside the migrations, without blocking writers.
func TestLateIndexesAreBuiltConcurrently(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("query/*.sql")
	require.NoError(t, err)
	built := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		// River's own migrations need the indexes of this file for a moment: see restoreRiverIndexes.
		if filepath.Base(file) == "river_indexes_restore.sql" {
			continue
		}
		parts, _ := sqlStatements(string(text))
		for _, part := range parts {
			if index := createIndex.FindStringSubmatch(part); index != nil {
				built++
				require.NotEmpty(t, index[1], "%s: %s", file, part)
			}
		}
	}
	require.NotZero(t, built)
}

func TestTheLinterOfMigrationsFindsMistakes(t *testing.T) {
	t.Parallel()
	isReleased := func(minor string) bool { return minor == "1.4" }
	const drops = "only a contract migration drops or renames"
	for sql, want := range map[string]string{
		"SELECT 1;":                          "the first line must be",
		"-- a comment\n-- expand\nSELECT 1;": "the first line must be",
		"-- contract (since 1.5)\nALTER TABLE hooklatch.effects DROP COLUMN a;":                         "1.5 is not released",
		"-- expand\nALTER TABLE hooklatch.effects DROP COLUMN a;":                                       drops,
		"-- expand\nALTER TABLE hooklatch.effects ADD COLUMN b int, DROP a;":                            drops,
		"-- expand\ndrop table hooklatch.effects;":                                                      drops,
		"-- expand\nDROP INDEX hooklatch.effects_due;":                                                  drops,
		"-- expand\nDO $x$ BEGIN DROP TABLE hooklatch.effects; END $x$;":                                drops,
		"-- expand\nDO $$ BEGIN EXECUTE 'DROP TABLE hooklatch.effects'; END $$;":                        "hides a statement",
		"-- expand\nALTER TABLE hooklatch.effects RENAME COLUMN a TO b;":                                drops,
		"-- expand\nALTER TABLE hooklatch.effects RENAME TO more;":                                      drops,
		"-- expand\nALTER FUNCTION hooklatch.enqueue RENAME TO more;":                                   drops,
		"-- expand\nALTER TABLE hooklatch.effects DROP CONSTRAINT known_state;":                         drops,
		"-- expand\nALTER TABLE hooklatch.effects ALTER COLUMN attempt TYPE bigint;":                    "type changes",
		"-- expand\nALTER TABLE hooklatch.effects ALTER attempt SET DATA TYPE bigint;":                  "type changes",
		"-- expand\nALTER TYPE hooklatch.river_job_state ADD VALUE 'x';":                                "a type is changed",
		"-- expand\nALTER TABLE hooklatch.effects ALTER COLUMN a SET NOT NULL;":                         "SET NOT NULL",
		"-- expand\nALTER TABLE hooklatch.effects ADD CONSTRAINT c CHECK (a > 0);":                      "NOT VALID",
		"-- expand\nALTER TABLE hooklatch.effects ADD CHECK (a > 0);":                                   "NOT VALID",
		"-- expand\nALTER TABLE hooklatch.effects ADD CONSTRAINT c UNIQUE (a);":                         "NOT VALID",
		"-- expand\nALTER TABLE hooklatch.effects ADD COLUMN a int CHECK (a > 0);":                      "new column's constraint",
		"-- expand\nALTER TABLE hooklatch.effects ADD COLUMN a bigserial;":                              "new column's constraint",
		"-- expand\nALTER TABLE hooklatch.effects ADD COLUMN a text NOT NULL;":                          "give it a default",
		"-- expand\nALTER TABLE hooklatch.effects ADD COLUMN a uuid DEFAULT gen_random_uuid();":         "volatile default",
		"-- expand\nALTER TABLE hooklatch.effects ADD a timestamptz NOT NULL DEFAULT clock_timestamp()": "volatile default",
		"-- expand\nCREATE INDEX effects_a ON hooklatch.effects (a);":                                   "CONCURRENTLY",
		"-- expand\nCREATE UNIQUE INDEX CONCURRENTLY effects_a ON hooklatch.effects (a);":               "after the migrations",
		"-- expand\nUPDATE hooklatch.effects SET a = 1;":                                                "in batches",
		"-- expand\nSET LOCAL lock_timeout = '10s';":                                                    "sets lock_timeout",
		"-- contract (since 1.4)\nALTER TABLE hooklatch.effects ALTER COLUMN a SET NOT NULL;":           "SET NOT NULL",
	} {
		found := lintMigration(sql, isReleased)
		require.NotEmpty(t, found, sql)
		require.Contains(t, strings.Join(found, "\n"), want, sql)
	}
	for _, sql := range []string{
		"-- contract (since 1.4)\nALTER TABLE hooklatch.effects DROP COLUMN a;",
		"-- contract (since 1.4)\nDROP INDEX hooklatch.effects_due;",
		`-- expand
		-- DROP TABLE in a comment
		CREATE TABLE hooklatch.more (a int NOT NULL CHECK (a > 0), b uuid DEFAULT gen_random_uuid());
		CREATE INDEX more_b ON hooklatch.more (b);
		ALTER TABLE hooklatch.more ADD CONSTRAINT c CHECK (b IS NOT NULL);
		INSERT INTO hooklatch.more (a) SELECT 1;
		COMMENT ON TABLE hooklatch.more IS 'DROP TABLE hooklatch.effects; UPDATE hooklatch.effects';`,
		`-- expand
		ALTER TABLE hooklatch.effects ADD COLUMN a text NOT NULL DEFAULT '', ADD COLUMN at timestamptz NOT NULL DEFAULT now();
		ALTER TABLE hooklatch.effects ALTER COLUMN a SET DEFAULT gen_random_uuid();`,
		`-- expand
		ALTER TABLE hooklatch.effects DROP CONSTRAINT known_state, ADD CONSTRAINT known_state CHECK (state IN ('a', 'b')) NOT VALID;`,
		`-- expand
		CREATE OR REPLACE FUNCTION hooklatch.f() RETURNS void LANGUAGE plpgsql AS $f$ BEGIN DROP TABLE x; UPDATE y SET z = 1; END $f$;`,
	} {
		require.Empty(t, lintMigration(sql, isReleased), sql)
	}
}

// A migration waits only briefly for a table in use, because all later users of the table wait
// behind the migration.
func TestAMigrationRunsWithALockTimeout(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t, pgtest.Empty())
	migrator := newMigrator(t, pool, "")
	migrator.AddMigration("CREATE TABLE hooklatch.noted AS SELECT current_setting('lock_timeout') AS lock_timeout;")
	_, err := migrator.Up(t.Context())
	require.NoError(t, err)
	rows, err := pool.Query(t.Context(), "SELECT lock_timeout FROM hooklatch.noted")
	require.NoError(t, err)
	noted, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, "100ms", noted)
}
