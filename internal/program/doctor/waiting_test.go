package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/doctor"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/schema/pgtest"
)

var anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`)

// Waiting rows are reported: their number, age, reason, and the command to run.
func TestWhatWaitsIsTold(t *testing.T) {
	t.Parallel()
	setups, err := filepath.Glob("testdata/waiting/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, setups)
	for _, setup := range setups {
		t.Run(strings.TrimSuffix(filepath.Base(setup), ".sql"), func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			text, err := os.ReadFile(setup)
			require.NoError(t, err)
			_, err = pool.Exec(t.Context(), "SET session_replication_role = replica;"+string(text)+";RESET session_replication_role")
			require.NoError(t, err)
			found, err := doctor.Waiting(t.Context(), pool, schema.Default)
			require.NoError(t, err)
			var got strings.Builder
			for _, f := range found {
				require.Equal(t, f.Level == doctor.OK, f.Since.IsZero(), "%+v", f)
				line := fmt.Sprintf("%s %d: %s", f.Check, f.Count, strings.ReplaceAll(f.Message, "\n", "; "))
				if f.Fix != "" {
					line += " -> " + f.Fix
				}
				got.WriteString(anyTime.ReplaceAllString(line, "TIME") + "\n")
			}
			want, err := os.ReadFile(strings.TrimSuffix(setup, ".sql") + ".want")
			require.NoError(t, err)
			require.Equal(t, string(want), got.String())
		})
	}
}

func TestNothingWaitsInAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	found, err := doctor.Waiting(t.Context(), pgtest.New(t), schema.Default)
	require.NoError(t, err)
	require.Equal(t, []doctor.Finding{{Level: doctor.OK, Check: "waiting", Message: "nothing is waiting; no worker is running"}}, found)
}
