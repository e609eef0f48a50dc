package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooklatch/hooklatch/outbox"
)

func newEvents(p *process, g *globals) *cobra.Command {
	var database databaseFlag
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List, show, replay, release and drop accepted events",
		Args:  cobra.NoArgs,
		RunE:  needsCommand,
	}
	database.register(cmd.PersistentFlags())
	cmd.AddCommand(newEventsList(p, g, &database), newEventsShow(p, g, &database), newEventsReplay(p, g, &database),
		newEventsRelease(p, g, &database), newEventsDrop(p, g, &database))
	return cmd
}

var eventOutcomes = []outbox.EventOutcome{
	outbox.EventReceived, outbox.EventDispatched, outbox.EventSkipped, outbox.EventFailed, outbox.EventHeld, outbox.EventDropped,
}

// oneOf checks a flag that takes a word of a fixed set; empty is fine.
func oneOf[T ~string](flag, given string, allowed []T) (T, error) {
	if given == "" || slices.Contains(allowed, T(given)) {
		return T(given), nil
	}
	words := make([]string, len(allowed))
	for i, word := range allowed {
		words[i] = string(word)
	}
	return "", misused("--%s %q is not one of %s", flag, given, strings.Join(words, ", "))
}

// maxLimit bounds what a list shows.
const maxLimit = 10_000

func limitFlag(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", 50, fmt.Sprintf("how many at most, up to %d", maxLimit))
}

func checkLimit(limit int) error {
	if limit < 1 || limit > maxLimit {
		return misused("--limit %d: allowed are 1 to %d", limit, maxLimit)
	}
	return nil
}

func newEventsList(p *process, g *globals, database *databaseFlag) *cobra.Command {
	var filter outbox.EventFilter
	var state, since string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List events, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter.Outcome, err = oneOf("state", state, eventOutcomes); err != nil {
				return err
			}
			if filter.Since, err = timeFlag("since", since, time.Now()); err != nil {
				return err
			}
			if err := checkLimit(filter.Limit); err != nil {
				return err
			}
			return withOutbox(cmd.Context(), p, g, database, func(o *outbox.Outbox) error {
				events, err := o.Events(cmd.Context(), filter)
				if err != nil {
					return err
				}
				return p.printEvents(events, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&filter.Source, "source", "", "only those of this `source`")
	cmd.Flags().StringVar(&filter.Type, "type", "", "only those of this `type`")
	cmd.Flags().StringVar(&state, "state", "", "only those in this `state`: received, dispatched, skipped, failed, held or dropped")
	cmd.Flags().StringVar(&since, "since", "", "only those received at this `time` or later, like 2026-11-21 or 36h")
	limitFlag(cmd, &filter.Limit)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// eventView is an event as --json prints it.
type eventView struct {
	Source          string              `json:"source"`
	EventID         string              `json:"event_id"`
	Provider        string              `json:"provider"`
	Type            string              `json:"type"`
	APIVersion      string              `json:"api_version,omitempty"`
	State           outbox.EventOutcome `json:"state"`
	OccurredAt      *time.Time          `json:"occurred_at"`
	ReceivedAt      time.Time           `json:"received_at"`
	ProcessedAt     *time.Time          `json:"processed_at"`
	Generation      int                 `json:"generation"`
	Duplicates      int64               `json:"duplicates"`
	LastDuplicateAt *time.Time          `json:"last_duplicate_at"`
	BodyDiffers     bool                `json:"body_differs,omitempty"`
	RetryNumber     int                 `json:"retry_number,omitempty"`
	RetryReason     string              `json:"retry_reason,omitempty"`
	ReplaySuspect   bool                `json:"replay_suspect,omitempty"`
	AcceptanceID    string              `json:"acceptance_id"`
	DeliveryID      string              `json:"delivery_id"`
	Item            string              `json:"item,omitempty"`
	ConfigHash      string              `json:"config_hash,omitempty"`
	Error           string              `json:"error,omitempty"`
	ContentType     string              `json:"content_type,omitempty"`
	BodyBytes       *int                `json:"body_bytes,omitempty"`
	Headers         map[string][]string `json:"headers,omitempty"`
	Effects         []eventEffectView   `json:"effects,omitempty"`
}

type eventEffectView struct {
	IdempotencyKey string             `json:"idempotency_key"`
	Scope          string             `json:"scope"`
	Key            string             `json:"key"`
	Generation     int                `json:"generation"`
	Destination    string             `json:"destination"`
	State          outbox.EffectState `json:"state"`
	Attempt        int                `json:"attempt"`
	Suppressed     bool               `json:"suppressed"`
}

func viewOfEvent(e *outbox.Event) eventView {
	v := eventView{
		Source: e.Source, EventID: e.EventID, Provider: e.Provider, Type: e.Type, APIVersion: e.APIVersion,
		State: e.Outcome, OccurredAt: timeOrNil(e.OccurredAt), ReceivedAt: e.ReceivedAt, ProcessedAt: timeOrNil(e.ProcessedAt),
		Generation: e.Generation, Duplicates: e.Duplicates, LastDuplicateAt: timeOrNil(e.LastDuplicateAt), BodyDiffers: e.BodyDiffers,
		RetryNumber: e.RetryNumber, RetryReason: e.RetryReason, ReplaySuspect: e.ReplaySuspect,
		AcceptanceID: e.AcceptanceID.String(), DeliveryID: e.DeliveryID.String(), Item: e.Item,
		ConfigHash: e.ConfigHash, Error: e.Error, ContentType: e.ContentType, Headers: e.Headers,
	}
	if e.Body != nil {
		size := len(e.Body)
		v.BodyBytes = &size
	}
	return v
}

func (p *process) printEvents(events []*outbox.Event, asJSON bool) error {
	if asJSON {
		views := make([]eventView, 0, len(events))
		for _, e := range events {
			views = append(views, viewOfEvent(e))
		}
		return printJSON(p.stdout, views)
	}
	if len(events) == 0 {
		_, err := fmt.Fprintln(p.stdout, "no events")
		return err
	}
	t := newTable(p.stdout, "RECEIVED", "SOURCE", "EVENT", "TYPE", "STATE", "DUPLICATES")
	for _, e := range events {
		t.row(shown(e.ReceivedAt), e.Source, e.EventID, e.Type, string(e.Outcome), strconv.FormatInt(e.Duplicates, 10))
	}
	return t.flush()
}

// eventRef reads SOURCE EVENT_ID, or both in one with a slash between.
func eventRef(args []string) (outbox.EventRef, error) {
	if len(args) == 2 {
		return outbox.EventRef{Source: args[0], EventID: args[1]}, nil
	}
	source, id, ok := strings.Cut(args[0], "/")
	if !ok || source == "" || id == "" {
		return outbox.EventRef{}, misused("%q names no event: give SOURCE EVENT_ID or SOURCE/EVENT_ID", args[0])
	}
	return outbox.EventRef{Source: source, EventID: id}, nil
}

// loadEffects loads the effects of an event with their attempts.
func loadEffects(ctx context.Context, o *outbox.Outbox, links []outbox.EventEffect) ([]effectDetail, error) {
	details := make([]effectDetail, 0, len(links))
	for _, link := range links {
		detail, err := loadEffect(ctx, o, link.IdempotencyKey)
		if err != nil {
			return nil, err
		}
		detail.suppressed = link.Suppressed
		details = append(details, detail)
	}
	return details, nil
}
