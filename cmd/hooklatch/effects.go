package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
)

func newEffects(p *process, g *globals) *cobra.Command {
	var database databaseFlag
	cmd := &cobra.Command{
		Use:   "effects",
		Short: "List, show, retry, cancel and park effects",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	database.register(cmd.PersistentFlags())
	cmd.AddCommand(newEffectsList(p, g, &database), newEffectsShow(p, g, &database), newEffectsRetry(p, g, &database), newEffectsCancel(p, g, &database), newEffectsPark(p, g, &database))
	return cmd
}

var effectStates = []outbox.EffectState{
	outbox.EffectPending, outbox.EffectStarted, outbox.EffectInDoubt, outbox.EffectDone,
	outbox.EffectFailed, outbox.EffectParked, outbox.EffectCancelled,
}

func newEffectsList(p *process, g *globals, database *databaseFlag) *cobra.Command {
	var filter outbox.EffectFilter
	var state, event, since string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List effects, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter.State, err = oneOf("state", state, effectStates); err != nil {
				return err
			}
			if event != "" {
				if filter.Event, err = eventRef([]string{event}); err != nil {
					return err
				}
			}
			if filter.Since, err = timeFlag("since", since, time.Now()); err != nil {
				return err
			}
			if err := checkLimit(filter.Limit); err != nil {
				return err
			}
			return withOutbox(cmd.Context(), p, g, database, func(o *outbox.Outbox) error {
				effects, err := o.Effects(cmd.Context(), filter)
				if err != nil {
					return err
				}
				return p.printEffects(effects, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&filter.Destination, "destination", "", "only those to this `destination`")
	cmd.Flags().StringVar(&state, "state", "", "only those in this `state`: pending, started, in_doubt, done, failed, parked or cancelled")
	cmd.Flags().StringVar(&filter.Route, "route", "", "only those of this `route`")
	cmd.Flags().StringVar(&filter.Source, "source", "", "only those of events of this `source`")
	cmd.Flags().StringVar(&since, "since", "", "only those made at this `time` or later, like 2026-11-21 or 36h")
	cmd.Flags().StringVar(&event, "event", "", "only those of this event, as `SOURCE/EVENT_ID`")
	limitFlag(cmd, &filter.Limit)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// effectView is an effect as --json prints it.
type effectView struct {
	IdempotencyKey    string             `json:"idempotency_key"`
	WireKey           string             `json:"wire_key"`
	KeyRotations      int                `json:"key_rotations,omitempty"`
	Scope             string             `json:"scope"`
	Key               string             `json:"key"`
	Generation        int                `json:"generation"`
	Route             string             `json:"route,omitempty"`
	Destination       string             `json:"destination"`
	Policy            outbox.Policy      `json:"policy"`
	Source            string             `json:"source,omitempty"`
	EventID           string             `json:"event_id,omitempty"`
	EventType         string             `json:"event_type,omitempty"`
	Method            string             `json:"method,omitempty"`
	URL               string             `json:"url,omitempty"`
	OrderKey          string             `json:"order_key,omitempty"`
	OnPark            outbox.OnPark      `json:"on_park,omitempty"` // of effects in an order
	LatestKey         string             `json:"latest_key,omitempty"`
	OccurredAt        *time.Time         `json:"occurred_at,omitempty"` // of effects with a latest_key
	SupersededBy      string             `json:"superseded_by,omitempty"`
	State             outbox.EffectState `json:"state"`
	Attempt           int                `json:"attempt"`
	CreatedAt         time.Time          `json:"created_at"`
	FirstAttemptAt    *time.Time         `json:"first_attempt_at"`
	LastAttemptAt     *time.Time         `json:"last_attempt_at"`
	NextAttemptAt     *time.Time         `json:"next_attempt_at"` // null when none follows
	LeaseUntil        *time.Time         `json:"lease_until"`
	MaybeAppliedSince *time.Time         `json:"maybe_applied_since"`
	FinishedAt        *time.Time         `json:"finished_at"`
	ResponseStatus    int                `json:"response_status,omitempty"`
	ResponseExcerpt   string             `json:"response_excerpt,omitempty"`
	Error             string             `json:"error,omitempty"`
	JobID             int64              `json:"job_id,omitempty"`
	Attempts          []attemptView      `json:"attempts,omitempty"`
	Transitions       []transitionView   `json:"transitions,omitempty"`
}

type attemptView struct {
	Attempt         int                `json:"attempt"`
	StartedAt       time.Time          `json:"started_at"`
	FinishedAt      time.Time          `json:"finished_at"`
	Applied         string             `json:"applied"`
	Lost            bool               `json:"lost,omitempty"`
	State           outbox.EffectState `json:"state"`
	ResponseStatus  int                `json:"response_status,omitempty"`
	ResponseExcerpt string             `json:"response_excerpt,omitempty"`
	Error           string             `json:"error,omitempty"`
	JobID           int64              `json:"job_id,omitempty"`
	KeyRotation     int                `json:"key_rotation,omitempty"`
}

type transitionView struct {
	From    outbox.EffectState `json:"from,omitempty"` // empty for its creation
	To      outbox.EffectState `json:"to"`
	Attempt int                `json:"attempt"`
	At      time.Time          `json:"at"`
	Reason  string             `json:"reason,omitempty"`
	JobID   int64              `json:"job_id,omitempty"`
}

func viewOfEffect(e outbox.Effect) effectView {
	v := effectView{
		IdempotencyKey: e.IdempotencyKey, WireKey: e.WireKey, KeyRotations: e.KeyRotations, Scope: e.Scope, Key: e.Key, Generation: e.Generation,
		Route: e.Route, Destination: e.Destination, Policy: e.Policy,
		Source: e.Event.Source, EventID: e.Event.EventID, EventType: e.EventType,
		Method: e.Request.Method, URL: e.Request.URL,
		OrderKey: e.OrderKey, LatestKey: e.LatestKey, SupersededBy: e.SupersededBy,
		State: e.State, Attempt: e.Attempt, CreatedAt: e.CreatedAt,
		FirstAttemptAt: timeOrNil(e.FirstAttemptAt), LastAttemptAt: timeOrNil(e.LastAttemptAt), LeaseUntil: timeOrNil(e.LeaseUntil),
		MaybeAppliedSince: timeOrNil(e.MaybeAppliedSince), FinishedAt: timeOrNil(e.FinishedAt),
		ResponseStatus: e.ResponseStatus, ResponseExcerpt: e.ResponseExcerpt, Error: e.Error, JobID: e.JobID,
	}
	if e.OrderKey != "" {
		v.OnPark = e.OnPark
	}
	if e.LatestKey != "" {
		v.OccurredAt = timeOrNil(e.OccurredAt)
	}
	if e.State == outbox.EffectPending || e.State == outbox.EffectInDoubt {
		v.NextAttemptAt = timeOrNil(e.NextAttemptAt)
	}
	return v
}

func (p *process) printEffects(effects []outbox.Effect, asJSON bool) error {
	if asJSON {
		views := make([]effectView, 0, len(effects))
		for _, e := range effects {
			views = append(views, viewOfEffect(e))
		}
		return printJSON(p.stdout, views)
	}
	if len(effects) == 0 {
		_, err := fmt.Fprintln(p.stdout, "no effects")
		return err
	}
	t := newTable(p.stdout, "CREATED", "EFFECT", "DESTINATION", "EVENT", "STATE", "ATTEMPTS", "LAST")
	for _, e := range effects {
		event := "-"
		if e.Event != (outbox.EventRef{}) {
			event = e.Event.String()
		}
		t.row(shown(e.CreatedAt), e.IdempotencyKey, e.Destination, event, string(e.State), strconv.Itoa(e.Attempt), lastOf(e))
	}
	return t.flush()
}

// lastOf is what the last attempt came to, in a word.
func lastOf(e outbox.Effect) string {
	switch {
	case e.ResponseStatus != 0:
		return strconv.Itoa(e.ResponseStatus)
	case e.Error != "":
		return e.Error
	}
	return "-"
}
