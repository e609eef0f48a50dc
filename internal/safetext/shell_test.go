package safetext_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/safetext"
)

func TestShellTakesAWordForWhatItIs(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"evt_1-2.x":          "evt_1-2.x",
		"":                   "''",
		"it's $HOME `id`":    `'it'\''s $HOME ` + "`id`'",
		"grüße":              "'grüße'",
		"a\x1b[201~\nrm -rf": `$'a\x1b[201~\x0arm -rf'`,
		"a'\\\tb":            `$'a\'\\\x09b'`,
		"\xff":               `$'\xff'`,
		"\u202eabc":          `$'\xe2\x80\xaeabc'`,
	} {
		require.Equal(t, want, safetext.Shell(word))
		if bash, err := exec.LookPath("bash"); err == nil {
			printed, err := exec.CommandContext(t.Context(), bash, "-c", "printf %s "+safetext.Shell(word)).Output()
			require.NoError(t, err)
			require.Equal(t, word, string(printed))
		}
	}
}

func TestOperandsAreNoFlags(t *testing.T) {
	t.Parallel()
	require.Equal(t, "stripe evt_1", safetext.Operands("stripe", "evt_1"))
	require.Equal(t, "-- stripe --yes", safetext.Operands("stripe", "--yes"))
	require.Equal(t, "-- -a -b", safetext.Operands("-a", "-b"))
}
