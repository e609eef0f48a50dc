package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/internal/program/desk"
	"github.com/hooklatch/hooklatch/internal/safetext"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

func (c *cli) noSuchEffect(key string) error {
	return c.notFound(fmt.Sprintf("no effect has the key %s", safetext.Shown(key)), key)
}

// notFound returns the error for a name that the command did not find. If the command looked in one
// of several cells, the error says how to look in all.
func (c *cli) notFound(problem, name string) error {
	if c.within == "" {
		return errors.New(problem)
	}
	return fmt.Errorf("%s%s; search all cells with: %s", problem, c.within, c.inCell("").command("find --exact "+safetext.Operands(name)))
}

// newEffectsVerb returns the command that applies a verb to one or many effects.
func (c *cli) newEffectsVerb(v desk.Verb) *cobra.Command {
	f := effectsFlags{action: v.Action}
	cmd := &cobra.Command{
		Use:   v.Name + " (KEY | FLAGS)",
		Short: v.Short,
		Long: longOf(v, "To apply the command to many effects, select them with flags.") + `

A selection needs at least --state. Without --yes the command counts the selected
effects, shows a sample and prints the command to run next. The --as-of in that command
leaves out effects that are created or change later. With --yes the command starts a
bulk run and carries it out, oldest effects first. An interrupt pauses the run, and
'hooklatch runs resume' continues it. With --detach, or if the command is killed,
workers carry out the run.

Effects that may have been applied are counted and left out. --in-doubt includes them
and requires --reason when used with --yes.

A time is a timestamp (2026-11-21T08:00:00Z), a date in UTC (2026-11-21), or a duration
before now, such as 36h.`,
		Example: fmt.Sprintf("  %[1]s effects %[2]s hl_0123... --reason \"requested by support\"\n"+
			"  %[1]s effects %[2]s --state %[3]s --destination app --since 1h\n"+
			"  %[1]s effects %[2]s --state %[3]s --source stripe --when 'body.livemode' --rate 20 --yes", c.Name, v.Name, v.Usual),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				o, err := f.order()
				if err != nil {
					return err
				}
				return c.carryOutMany(cmd.Context(), manyOrder{cli: c, runFlags: f.runFlags, cmd: cmd, by: f.by.operator(), order: o})
			}
			if f.given() {
				return misused("a key and a selection by flags exclude each other")
			}
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				return c.carryOut(cmd.Context(), o, deed{Verb: v, target: desk.Target{Name: args[0]}}, f.by.operator())
			})
		},
	}
	f.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}

// effectsFlags are the flags of a bulk run on effects.
type effectsFlags struct {
	runFlags

	action   ledger.Action
	selected *selection[find.Effects]
	by       operatorFlags
	asOf     string
	inDoubt  bool
}

func (f *effectsFlags) register(cmd *cobra.Command) {
	// There is no --event: to act on the effects of one event, an operator names each effect by its
	// key, or replays the event.
	f.selected = selectBy[find.Effects](cmd, "select ", map[string][]string{"state": textsOf(ledger.StatesFor(f.action))}, "event")
	cmd.Flags().StringVar(&f.asOf, "as-of", "", "leave out effects that were created or changed state after this `time`; a preview prints the time to use (default now)")
	cmd.Flags().BoolVar(&f.inDoubt, "in-doubt", false, "include effects that may have been applied; requires --reason when used with --yes")
	f.runFlags.register(cmd, "effects")
	f.by.register(cmd)
}

func (f *effectsFlags) given() bool {
	return f.selected.given() || f.asOf != "" || f.inDoubt || f.runFlags.given()
}

// order returns the bulk run that the flags describe.
func (f *effectsFlags) order() (runs.Order, error) {
	o := runs.Order{Action: f.action, EffectTerms: runs.EffectTerms{InDoubt: f.inDoubt}}
	if !f.given() {
		return o, misused("name an effect by its key, or select effects with --state and other flags")
	}
	var err error
	if o.Effects, err = f.selected.filter(); err != nil {
		return o, err
	}
	if len(o.Effects.States) == 0 {
		return o, misused("a selection needs --state: one or more of %s", strings.Join(textsOf(ledger.StatesFor(f.action)), ", "))
	}
	if err := checkRate(f.rate, "effects"); err != nil {
		return o, err
	}
	if f.inDoubt && f.yes && strings.TrimSpace(f.by.operator().Reason) == "" {
		return o, misused("--in-doubt includes effects that may have been applied already: state the reason with --reason")
	}
	o.AsOf, err = timeFlag("as-of", f.asOf, time.Now())
	return o, err
}

// textsOf converts typed words to strings.
func textsOf[T ~string](of []T) []string {
	texts := make([]string, len(of))
	for i, word := range of {
		texts[i] = string(word)
	}
	return texts
}
