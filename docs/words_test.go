package docs_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Words that readers stumbled over, and what to write. Each is wrong in every
// sentence of ours: a word that is sometimes right does not belong here.
func TestPagesAvoidWordsThatReadersStumbleOver(t *testing.T) {
	t.Parallel()
	for word, better := range map[string]string{
		`mend(s|ed|ing)?`:     "repair, or fix",
		`whoever`:             "anyone who, or say who it is",
		`for ever`:            "forever",
		`shall`:               "must, or should",
		`(any|no|some)body's`: "say whose it is",
	} {
		stumble := regexp.MustCompile(`(?i).*\b` + word + `\b.*`)
		for page, text := range pages(t) {
			if filepath.Base(page) == "CHANGELOG.md" || filepath.Base(filepath.Dir(page)) == "providers" {
				continue // what has been published, and what is written from declarations
			}
			require.Empty(t, stumble.FindString(text), "%s: write %s", page, better)
		}
	}
}
