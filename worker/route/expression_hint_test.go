package route

import (
	"os"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

func TestMistakesOfOtherLanguagesAreExplained(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/expressions.yaml")
	require.NoError(t, err)
	var cases []struct{ Expression, Says string }
	require.NoError(t, yaml.UnmarshalWithOptions(text, &cases, yaml.Strict()))
	require.NotEmpty(t, cases)
	envs, err := newExpressionEnvs()
	require.NoError(t, err)
	for _, c := range cases {
		t.Run(c.Expression, func(t *testing.T) {
			t.Parallel()
			_, err := compileExpression(envs.dispatch, c.Expression, wantBool)
			require.Error(t, err)
			require.Equal(t, c.Says, err.Error()+"\n")
		})
	}
}
