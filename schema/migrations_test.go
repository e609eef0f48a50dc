package schema_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/schema"
)

func TestReadMigrations(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		files []string
		want  []string
		err   string
	}{
		"complete":      {[]string{"0001_a.up.sql", "0001_a.down.sql", "0002_b_c.up.sql", "0002_b_c.down.sql"}, []string{"0001_a", "0002_b_c"}, ""},
		"gap":           {[]string{"0001_a.up.sql", "0001_a.down.sql", "0003_c.up.sql", "0003_c.down.sql"}, nil, "0003_c.down.sql should have the number 0002"},
		"begins at 2":   {[]string{"0002_a.up.sql", "0002_a.down.sql"}, nil, "should have the number 0001"},
		"no down":       {[]string{"0001_a.up.sql"}, nil, "0001_a needs an up file and a down file"},
		"no up":         {[]string{"0001_a.down.sql"}, nil, "0001_a needs an up file and a down file"},
		"two of a kind": {[]string{"0001_a.up.sql", "0001_a.down.sql", "0001_b.up.sql"}, nil, "0001 is both a and b"},
		"bad name":      {[]string{"1_a.up.sql"}, nil, "1_a.up.sql is not named NNNN_name.up.sql"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{}
			for _, file := range one.files {
				files["dir/"+file] = &fstest.MapFile{Data: []byte("SELECT 1;")}
			}
			got, err := schema.ReadMigrations(files, "dir")
			if one.err != "" {
				require.ErrorContains(t, err, one.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, one.want, got)
		})
	}
}

func TestHashIsStable(t *testing.T) {
	t.Parallel()
	require.Regexp(t, `^[0-9a-f]{16}$`, schema.Hash())
	require.Equal(t, schema.Hash(), schema.Hash())
}
