// Package receiver holds the programs of docs/receiver.md.
package receiver

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:generate go test . -run ^TestThePageShowsThePrograms$ -update

var update = flag.Bool("update", false, "put the programs into the page instead of comparing")

const page = "../../receiver.md"

// shown matches a program in the page: the comment that contains the file's name, and the code
// block after it.
var shown = regexp.MustCompile("(?s)<!-- examples/receiver/([a-z/._]+) -->\n```([a-z]+)\n.*?```\n")

// The page shows exactly the programs that the tests run.
func TestThePageShowsThePrograms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	programs := 0
	want := shown.ReplaceAllStringFunc(string(text), func(block string) string {
		programs++
		parts := shown.FindStringSubmatch(block)
		program, err := os.ReadFile(parts[1])
		require.NoError(t, err)
		return "<!-- examples/receiver/" + parts[1] + " -->\n```" + parts[2] + "\n" + string(program) + "```\n"
	})
	require.Equal(t, 5, programs)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "docs/receiver.md is out of date; run: go generate ./docs/examples/receiver")
}
