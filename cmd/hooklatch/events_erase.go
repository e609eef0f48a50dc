package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/condition"
	"github.com/hooklatch/hooklatch/outbox/erasure"
	"github.com/hooklatch/hooklatch/outbox/identity"
)

// eraseSelection are the flags that select events to erase.
type eraseSelection struct {
	eventSelection
	payloadFlags

	state string
}

func (s *eraseSelection) register(cmd *cobra.Command) {
	s.eventSelection.register(cmd, "erase ")
	s.payloadFlags.register(cmd, "erase ")
	cmd.Flags().StringVar(&s.state, "state", "", "erase those in this `state`: received, dispatched, skipped, failed, held or dropped")
}

func (s *eraseSelection) empty() bool { return *s == eraseSelection{} }

func (s *eraseSelection) selection(now time.Time) (erasure.Selection, error) {
	selected := erasure.Selection{Source: identity.Source(s.source), Type: s.eventType}
	if s.empty() {
		return selected, misused("name an event, or select events with --source, --type, --state, --since, --until, --when and --contains")
	}
	var err error
	if selected.Outcome, err = oneOf("state", s.state, eventOutcomes); err != nil {
		return selected, err
	}
	if selected.From, selected.Until, err = s.times(now); err != nil {
		return selected, err
	}
	selected.Match, err = s.matches()
	return selected, err
}

// order is the selection as the operator log keeps it: what it looked for is hashed,
// with the id of the order, so that somebody who has the text can see that it was meant.
func (s *eraseSelection) order(cancel bool, selected erasure.Selection, requestID string) erasure.Order {
	order := erasure.Order{Cancel: cancel}
	when, literals := condition.Concealed(s.when, requestID)
	for _, literal := range literals {
		order.Searched = append(order.Searched, textOf(literal))
	}
	contains := ""
	if s.contains != "" {
		order.Searched = append(order.Searched, s.contains)
		contains, _ = condition.Concealed(strconv.Quote(s.contains), requestID)
	}
	order.Filter = struct {
		Source string     `json:"source,omitempty"`
		Type   string     `json:"type,omitempty"`
		State  string     `json:"state,omitempty"`
		Since  *time.Time `json:"since,omitempty"`
		Until  *time.Time `json:"until,omitempty"`
		When   string     `json:"when,omitempty"`

		Contains string `json:"contains,omitempty"`
	}{s.source, s.eventType, s.state, known(selected.From), known(selected.Until), when, contains}
	return order
}

// textOf is what a literal stands for, where nothing in it is escaped.
func textOf(literal string) string {
	if quoted := strings.TrimLeft(literal, "rRbB"); quoted != "" && (quoted[0] == '"' || quoted[0] == '\'') {
		return strings.Trim(quoted, quoted[:1])
	}
	return literal
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (c *cli) newEventsErase() *cobra.Command {
	var selected eraseSelection
	var by operatorFlags
	var cancel, yes bool
	var again string
	cmd := &cobra.Command{
		Use:   "erase (SOURCE EVENT_ID | FLAGS)",
		Short: "Take away what events said: bodies, headers, requests, answers and errors",
		Long: `Take away what one event said, or all that the flags select: its body, what its
effects sent, what was answered and what failed. Of a body that other events came in
too, its own part goes; the headers go with the last of them. Its id, the keys of its
effects and its outcome stay, so that it is a duplicate when it comes again. It is
never dispatched again, and its effects are never tried again.

What is unfinished is refused: --cancel gives it up first. Nothing is done until --yes
is given. Ids and keys that stay although they have in them what was looked for, or a
mail address or telephone number of the event, are printed.

Backups have it still: keep the list of what was erased, which this prints, and after a
restore give it to --again. It is never taken back. docs/privacy.md says what is left
where, and for how long. Times are like 2026-11-21T08:00:00Z or 2026-11-21, which is
UTC, or a while ago like 36h.`,
		Example: "  " + c.name + ` events erase stripe evt_123 --yes --reason "request 17 of the data protection officer"
  ` + c.name + ` events erase --source stripe --when 'body.data.object.customer == "cus_42"'
  ` + c.name + ` events erase --source stripe --when 'body.data.object.customer == "cus_42"' --cancel --yes >> erased.txt
  ` + c.name + ` events erase --contains ada@example.com
  ` + c.name + ` events erase --again erased.txt --yes`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			run := eraseRun{cli: c, by: by.operator(), cancel: cancel}
			run.by.RequestID = uuid.NewString()
			named := len(args) > 0
			switch {
			case named && (!selected.empty() || again != ""), again != "" && !selected.empty():
				return misused("an event, a selection by flags and a list to erase again exclude each other")
			case named:
				ref, err := eventRef(args)
				if err != nil {
					return err
				}
				return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error { return run.one(cmd.Context(), o, ref, yes) })
			case again != "":
				return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error { return run.again(cmd.Context(), o, again, yes) })
			}
			selection, err := selected.selection(time.Now())
			if err != nil {
				return err
			}
			order := selected.order(cancel, selection, run.by.RequestID)
			return c.withOutbox(cmd.Context(), func(o *outbox.Outbox) error {
				if !yes {
					return run.preview(cmd.Context(), o, selection)
				}
				return run.many(cmd.Context(), o, selection, order)
			})
		},
	}
	selected.register(cmd)
	by.register(cmd)
	c.jsonFlag(cmd)
	cmd.Flags().BoolVar(&cancel, "cancel", false, "give up what is unfinished of them, and erase it too")
	cmd.Flags().StringVar(&again, "again", "", "erase once more what this `file` lists, as an earlier erasure printed it; - is standard input")
	cmd.Flags().BoolVar(&yes, "yes", false, "erase; without it the events are only counted")
	return cmd
}
