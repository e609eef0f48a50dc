package main

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:generate go test . -run ^TestThePageShowsTheProgram$ -update

var update = flag.Bool("update", false, "put the program into the page instead of comparing")

const page = "../../handlers.md"

// shown matches a file in the page: the comment that contains the file's name, and the code block
// after it.
var shown = regexp.MustCompile("(?s)<!-- examples/handler/([a-z_.]+) -->\n```go\n.*?```\n")

// The page shows exactly the program that the tests run.
func TestThePageShowsTheProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	files := 0
	want := shown.ReplaceAllStringFunc(string(text), func(block string) string {
		files++
		name := shown.FindStringSubmatch(block)[1]
		file, err := os.ReadFile(name)
		require.NoError(t, err)
		return "<!-- examples/handler/" + name + " -->\n```go\n" + string(file) + "```\n"
	})
	require.Equal(t, 2, files)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "docs/handlers.md is out of date; run: go generate ./docs/examples/handler")
}
