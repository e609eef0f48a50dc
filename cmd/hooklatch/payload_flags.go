package main

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/payload"
	"github.com/hooklatch/hooklatch/worker/route"
)

// payloadFlags select by what events say: an expression for who knows how the sender
// writes, and a text for who does not. Both must hold.
type payloadFlags struct{ when, contains string }

// register declares them; doing is what their help begins with: "only ".
func (f *payloadFlags) register(cmd *cobra.Command, doing string) {
	cmd.Flags().StringVar(&f.when, "when", "", doing+"those for whose event this CEL `expression` is true, as in a route")
	cmd.Flags().StringVar(&f.contains, "contains", "", doing+"those whose payload has this `text` in it, in any field")
}

// matches is what they say of an event; nil without them.
func (f *payloadFlags) matches() (func(*inbox.Event) (bool, error), error) {
	if f.contains != "" && !utf8.ValidString(f.contains) {
		return nil, misused("--contains: the text is not UTF-8")
	}
	var when func(*inbox.Event) (bool, error)
	if f.when != "" {
		var err error
		if when, err = route.CompileCondition(f.when); err != nil {
			return nil, misused("--when: %s", err)
		}
	}
	if f.contains == "" {
		return when, nil
	}
	return func(e *inbox.Event) (bool, error) {
		if found := payload.Contains(e.ContentType, e.Payload(), f.contains); !found || when == nil {
			return found, nil
		}
		return when(e)
	}, nil
}

// match is the same for a list, with the text that the database looks for first.
func (f *payloadFlags) match() (*find.Match, error) {
	by, err := f.matches()
	if by == nil || err != nil {
		return nil, err
	}
	m := &find.Match{By: by}
	if f.when != "" {
		m.Text = route.DemandedText(f.when)
	}
	m.Text = cmp.Or(m.Text, plainRun(f.contains))
	return m, nil
}

// plainRun is the longest part of a text that nobody escapes.
func plainRun(text string) string {
	longest := ""
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}
