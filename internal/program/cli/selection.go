package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/worker/route"
)

// selection contains the flags that select events, effects or actions: one for each filter field.
type selection[Filter any] struct {
	set    *pflag.FlagSet
	fields []find.Field
}

// selectBy declares a flag for each field of a filter, except for the fields that the parameter
// except names. Each help text begins with the parameter doing, such as "only ". The map words
// lists, for some fields, the only values that their flags accept.
func selectBy[Filter any](cmd *cobra.Command, doing string, words map[string][]string, except ...string) *selection[Filter] {
	s := &selection[Filter]{set: cmd.Flags()}
	for _, f := range find.Fields[Filter]() {
		if slices.Contains(except, f.Name) {
			continue
		}
		if narrower := words[f.Name]; narrower != nil {
			f = f.Narrowed(narrower)
		}
		help := doing + nounOf[Filter]() + " " + strings.Replace(f.Help, "'", "`", 2)
		if f.Many {
			s.set.StringSlice(f.Name, nil, help)
		} else {
			s.set.String(f.Name, "", help)
		}
		if f.Words != nil {
			completeFlag(cmd, f.Name, fixed(f.Words...))
		}
		s.fields = append(s.fields, f)
	}
	return s
}

// nounOf returns the word for the objects that a filter selects.
func nounOf[Filter any]() string {
	switch any(*new(Filter)).(type) {
	case find.Events:
		return "events"
	case find.Effects:
		return "effects"
	}
	return "actions"
}

// text returns the value of a flag in the format of find.Set.
func (s *selection[Filter]) text(f find.Field) string {
	if f.Many {
		given, _ := s.set.GetStringSlice(f.Name) // declared above
		return strings.Join(given, ",")
	}
	given, _ := s.set.GetString(f.Name)
	return given
}

// given reports whether any of the flags is set.
func (s *selection[Filter]) given() bool {
	return slices.ContainsFunc(s.fields, func(f find.Field) bool { return s.text(f) != "" })
}

// names returns the flags as a phrase, such as "--source, --type and --id".
func (s *selection[Filter]) names() string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = "--" + f.Name
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// filter parses the flags.
func (s *selection[Filter]) filter() (Filter, error) {
	var asked Filter
	now := time.Now()
	for _, f := range s.fields {
		text := s.text(f)
		for word := range strings.SplitSeq(text, ",") {
			if f.Words != nil && word != "" && !slices.Contains(f.Words, word) {
				return asked, misused("--%s %q: allowed are %s", f.Name, word, strings.Join(f.Words, ", "))
			}
		}
		err := find.Set(&asked, f.Name, text, now)
		if wrong, is := errors.AsType[*find.ValueError](err); is {
			return asked, misused("--%s", wrong)
		}
		if err != nil {
			return asked, err
		}
		if f.Name == "when" && text != "" {
			if _, err := route.CompileCondition(context.Background(), text); err != nil {
				return asked, misused("--when: %s", err)
			}
		}
	}
	if span, is := any(asked).(interface{ Validate() error }); is && span.Validate() != nil {
		return asked, misused("--since %s is not before --until %s", s.set.Lookup("since").Value, s.set.Lookup("until").Value)
	}
	return asked, nil
}

// commandFor returns the command line that carries out a previewed run: the given command with
// --yes. The map still contains times for flags. The command line has these times instead of the
// given values of the flags, so that the selection stays the same. A flag whose time is zero is
// omitted. If the parameter reason is true, the command line has --reason.
func commandFor(cmd *cobra.Command, still map[string]time.Time, reason bool) string {
	words := []string{cmd.CommandPath()}
	flag := func(name, value string) { words = append(words, "--"+name, safetext.Shell(value)) }
	cmd.Flags().Visit(func(f *pflag.Flag) {
		_, stands := still[f.Name]
		if !stands && f.Name != "yes" && f.Name != "json" {
			words = append(words, flagWords(f)...)
		}
	})
	if reason && !cmd.Flags().Changed("reason") {
		flag("reason", "WHY")
	}
	for _, name := range []string{"since", "until", "as-of"} {
		if at := still[name]; !at.IsZero() {
			flag(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return fmt.Sprint(strings.Join(words, " "), " --yes")
}

// times parses --since and --until of a command without a selection.
func times(since, until string, now time.Time) (s find.Span, err error) {
	if s.Since, err = timeFlag("since", since, now); err != nil {
		return s, err
	}
	if s.Until, err = timeFlag("until", until, now); err == nil && s.Validate() != nil {
		err = misused("--since %s is not before --until %s", since, until)
	}
	return s, err
}

// timeFlag parses a flag that is a point in time. An empty flag is the zero time.
func timeFlag(flag, given string, now time.Time) (time.Time, error) {
	if given == "" {
		return time.Time{}, nil
	}
	at, ok := find.Time(given, now)
	if !ok {
		return at, misused("--%s %q is not a time: %s", flag, given, find.Times)
	}
	return at, nil
}
