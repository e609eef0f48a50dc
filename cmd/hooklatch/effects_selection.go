package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/safetext"
	"github.com/hooklatch/hooklatch/worker/route"
)

// effectsFlags select effects for an order about many.
type effectsFlags struct {
	span
	runFlags

	states                                            []string
	destination, route, source, eventType, when, asOf string
	inDoubt                                           bool
}

func (f *effectsFlags) register(cmd *cobra.Command, a effectAction) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.states, "state", nil, "select those in these `states`: "+statesInWords(a))
	flags.StringVar(&f.destination, "destination", "", "select those to this `destination`")
	flags.StringVar(&f.route, "route", "", "select those of this `route`")
	flags.StringVar(&f.source, "source", "", "select those of events of this `source`")
	flags.StringVar(&f.eventType, "type", "", "select those of events of this `type`, like invoice.*")
	flags.StringVar(&f.since, "since", "", "select those made at this `time` or later")
	flags.StringVar(&f.until, "until", "", "select those made before this `time`")
	flags.StringVar(&f.when, "when", "", "select those for whose event this CEL `expression` is true, as in a route")
	flags.StringVar(&f.asOf, "as-of", "", "leave out what was made or came to its state after this `time`, as a preview prints it (default now)")
	flags.BoolVar(&f.inDoubt, "in-doubt", false, "take those too that may have been applied; with --yes it needs --reason")
	f.runFlags.register(cmd, "effects")
}

func (f *effectsFlags) given() bool {
	return len(f.states) > 0 || f.destination+f.route+f.source+f.eventType+f.since+f.until+f.when+f.asOf != "" || f.inDoubt || f.runFlags.given()
}

func statesInWords(a effectAction) string {
	var words []string
	for _, state := range ledger.StatesFor(a.action) {
		words = append(words, string(state))
	}
	return strings.Join(words, ", ")
}

func (f *effectsFlags) selection(a effectAction, by ledger.Operator, now time.Time) (ledger.EffectSelection, error) {
	s := ledger.EffectSelection{Destination: f.destination, Route: f.route, Source: identity.Source(f.source), Type: f.eventType, InDoubt: f.inDoubt, When: f.when}
	if !f.given() {
		return s, misused("name an effect by its key, or select effects with --state and other flags")
	}
	if len(f.states) == 0 {
		return s, misused("a selection needs --state, of %s", statesInWords(a))
	}
	for _, given := range f.states {
		state, err := oneOf("state", given, ledger.StatesFor(a.action))
		if err != nil {
			return s, err
		}
		s.States = append(s.States, state)
	}
	if err := checkRate(f.rate, "effects"); err != nil {
		return s, err
	}
	if f.inDoubt && f.yes && strings.TrimSpace(by.Reason) == "" {
		return s, misused("--in-doubt takes effects that may have been applied already: say why with --reason")
	}
	var err error
	if s.From, s.Until, err = f.times(now); err != nil {
		return s, err
	}
	if s.AsOf, err = timeFlag("as-of", f.asOf, now); err != nil {
		return s, err
	}
	if f.when != "" {
		if _, err = route.CompileCondition(f.when); err != nil {
			return s, misused("--when: %s", err)
		}
	}
	return s, nil
}

// commandFor is the command line that does what a preview counted: as it was given, with
// times that stand still.
func commandFor(cmd *cobra.Command, s ledger.EffectSelection) string {
	still := map[string]time.Time{"since": s.From, "until": s.Until, "as-of": s.AsOf}
	words := []string{cmd.CommandPath()}
	flag := func(name, value string) { words = append(words, "--"+name, safetext.Shell(value)) }
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "since", "until", "as-of", "yes", "json":
		case "database-url": // it may hold a password
			words = append(words, "--database-url ...")
		case "in-doubt", "detach":
			words = append(words, "--"+f.Name)
		case "state":
			flag(f.Name, strings.Trim(f.Value.String(), "[]"))
		default:
			flag(f.Name, f.Value.String())
		}
	})
	if s.InDoubt && !cmd.Flags().Changed("reason") {
		flag("reason", "WHY")
	}
	for _, name := range []string{"since", "until", "as-of"} {
		if at := still[name]; !at.IsZero() {
			flag(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return fmt.Sprint(strings.Join(words, " "), " --yes")
}
