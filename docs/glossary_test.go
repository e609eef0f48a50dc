package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/glossary"
)

//go:generate go test . -run ^TestTheGlossaryHasTheTermsOfTheProgram$ -update

// docs/glossary.md contains the terms of the program. The help page of the console shows the same
// list.
func TestTheGlossaryHasTheTermsOfTheProgram(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("<!-- Generated from internal/program/glossary by `go generate ./docs`. Do not edit. -->\n\n# Glossary\n\n" +
		"One word for one thing, in the program, its console and these pages.\n\n| term | meaning |\n|---|---|\n")
	for _, term := range glossary.Terms() {
		fmt.Fprintf(&b, "| **%s** | %s |\n", term.Name, term.Means)
	}
	const page = "glossary.md"
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(b.String()), 0o644))
		return
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(text), "docs/glossary.md is out of date; run: go generate ./docs")
}
