package panicked_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/panicked"
)

func TestTextNamesTypeAndPlaceAndNoValue(t *testing.T) {
	t.Parallel()
	describe := func(f func()) (text string) {
		defer func() { text = panicked.Text(recover()) }()
		f()
		return ""
	}
	const here = ` at github\.com/hooklatch/hooklatch/internal/panicked_test\.TestTextNamesTypeAndPlaceAndNoValue\.func\d+:\d+$`
	for kind, f := range map[string]func(){
		"string":               func() { panic("canary") },
		`\*errors.errorString`: func() { panic(errors.New("canary")) },
		"runtime error: invalid memory address or nil pointer dereference": func() {
			_ = *nobody()
		},
		`runtime error: index out of range \[5\] with length 1`: func() {
			i := 5
			_ = []string{"canary"}[i]
		},
	} {
		require.Regexp(t, "^panic: "+kind+here, describe(f))
	}
}

func nobody() *string { return nil }
