package catalog

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAboutIsComplete checks that every declaration contains what an operator needs.
func TestAboutIsComplete(t *testing.T) {
	t.Parallel()
	for name, o := range configured(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provide(t, name, o)
			require.NotEmpty(t, p.About.Signing)
			require.NotEmpty(t, p.About.KeyRule)
			require.Contains(t, strings.Join(p.About.Setup, " "), "{url}")
			texts := slices.Concat(p.About.Setup, p.About.Notes, []string{p.About.Signing, p.About.KeyRule})
			for _, text := range texts {
				require.True(t, strings.HasSuffix(text, ".") || strings.HasSuffix(text, ")"), "%q is a sentence", text)
				require.NotContains(t, text, "\n")
			}
			if p.About.Docs != "" {
				require.True(t, strings.HasPrefix(p.About.Docs, "https://"), p.About.Docs)
			}
			require.GreaterOrEqual(t, p.Floor(), time.Hour)
			if p.UnsignedID || p.UnsignedBody {
				require.NotNil(t, p.ReplayToken, "the replay guard needs a token")
			}
		})
	}
}
