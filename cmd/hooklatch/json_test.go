package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/program/cli"
	"github.com/hooklatch/hooklatch/internal/program/cli/clitest"
	"github.com/hooklatch/hooklatch/internal/program/life"
	"github.com/hooklatch/hooklatch/outbox/find"
	"github.com/hooklatch/hooklatch/outbox/fleet"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/inbox"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/runs"
)

// Programs read the --json output, so its members must stay the same as in the golden files.
func TestJSONOfCommandsIsAsPublished(t *testing.T) {
	t.Parallel()
	s := clitest.NewSystem(t, clitest.SystemOptions{})
	clitest.Must(t, s.Args("send", "stripe", "--id", "evt_1")...)
	s.WaitDone(t, "stripe", "evt_1")
	var listed []identity.EffectID
	effects := clitest.Must(t, s.Args("effects", "list", "--destination", "app", "--json")...)
	require.NoError(t, json.Unmarshal([]byte(effects), &listed))
	matchesGolden(t, "effects_list", effects)
	matchesGolden(t, "effects_show", clitest.Must(t, s.Args("effects", "show", listed[0].IdempotencyKey(), "--json")...))
	matchesGolden(t, "events_list", clitest.Must(t, s.Args("events", "list", "--json")...))
	matchesGolden(t, "events_show", clitest.Must(t, s.Args("events", "show", "stripe", "evt_1", "--json")...))
	clitest.Must(t, s.Args("destinations", "pause", "app", "--reason", "they move house")...)
	matchesGolden(t, "destinations_list", clitest.Must(t, s.Args("destinations", "list", "--json")...))
}

func TestJSONOfEveryFieldIsAsPublished(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 8, 0, 0, 120_000_000, time.UTC)
	id := identity.EffectID{Scope: "route:stripe:receipts", Key: "evt_1", Generation: 2}
	effect := ledger.Effect{
		EffectID: id, IdempotencyKey: id.IdempotencyKey(), WireKey: id.IdempotencyKey() + "_1", KeyRotations: 1, Route: "receipts",
		Destination: "app", Queue: "dst_app", Policy: ledger.AtMostOnce, Event: identity.EventRef{Source: "stripe", EventID: "evt_1"},
		EventReceivedAt: at, EventType: "charge.succeeded", AcceptSeq: 7, Traceparent: "00-1-2-01",
		Request:  ledger.Request{Method: "POST", URL: "https://app.example.com/?a&b", ContentType: "text/plain", Body: []byte("canary")},
		OrderKey: "cus_1", OnPark: ledger.OnParkSkip, LatestKey: "cus_1", OccurredAt: at, SupersededBy: "hl_1",
		State: ledger.EffectPending, Attempt: 3, UncountedAttempts: 1, LeaseUntil: at, NextAttemptAt: at, CreatedAt: at,
		FirstAttemptAt: at, LastAttemptAt: at, RefusedSince: at, MaybeAppliedSince: at, FinishedAt: at,
		ResponseStatus: 500, ResponseExcerpt: "<b>no</b>", Error: "HTTP 500", JobID: 9,
	}
	detail := life.Effect{
		Effect: effect,
		Attempts: []ledger.Attempt{{
			Attempt: 1, StartedAt: at, FinishedAt: at, Lost: true, State: ledger.EffectInDoubt, Applied: "unknown",
			ResponseStatus: 500, ResponseExcerpt: "no", Error: "HTTP 500", JobID: 9, KeyRotation: 1,
		}, {}},
		Transitions: []ledger.Transition{{From: ledger.EffectStarted, To: ledger.EffectDone, Attempt: 1, At: at, Reason: "by hand", JobID: 9}, {}},
	}
	plain := ledger.Effect{
		State: ledger.EffectDone, NextAttemptAt: at, OccurredAt: at, OnPark: ledger.OnParkBlock,
	}
	event := &inbox.Event{
		EventRef: identity.EventRef{Source: "stripe", EventID: "evt_1"}, Provider: "stripe", Type: "charge.succeeded", APIVersion: "2026-01-01",
		OccurredAt: at, ReceivedAt: at, AcceptSeq: 7, AcceptanceID: uuid.Max, DeliveryID: uuid.Max, Item: "/events/0", Traceparent: "00-1-2-01",
		Outcome: inbox.Dispatched, Generation: 2, EffectGeneration: 2, ProcessedAt: at, ConfigHash: "abc", Error: "none",
		Duplicates: 3, LastDuplicateAt: at, BodyDiffers: true, ReplaySuspect: true, RetryNumber: 1, RetryReason: "timeout",
		Headers: map[string][]string{"Content-Type": {"application/json"}}, ContentType: "application/json", Body: []byte("{}"),
	}
	destination := fleet.DestinationState{
		Name: "app", Kind: "http", Queue: "dst_app", SharedQueue: true, RegisteredAt: at,
		OperatorPaused: true, PausedBy: "ann", PauseReason: "they move house", PausedAt: at,
		Breaker: fleet.BreakerHalfOpen, BreakerReason: "10 attempts failed", OpenedAt: at, ProbeAt: at, Epoch: 4, QueuePaused: true,
		ServedBy: 2, ServedAt: at,
	}
	run := runs.Run{
		Order: runs.Order{
			Action: ledger.ActionRetryEffect, Name: "after the fix", PerSecond: 20, Most: 1000, Effects: find.Effects{
				States: []ledger.EffectState{ledger.EffectFailed, ledger.EffectParked}, Destination: "app", Route: "receipts", Source: "stripe",
				Type: "invoice.*", Policy: ledger.AtMostOnce, Span: find.Span{Since: at, Until: at.Add(time.Hour)}, Content: find.Content{When: "body.a > 1 && true"},
			},
			EffectTerms: runs.EffectTerms{AsOf: at, InDoubt: true},
		},
		Counts: runs.Counts{Selected: 9, Changed: 8, InDoubt: 1, Unrendered: 2, Unclear: 3},
		ID:     17, By: ledger.Operator{Who: "ann", Role: "operator", Via: "console", Reason: "it is up", RequestID: "canary"},
		CreatedAt: at, State: runs.Failed, Since: at, Error: "no such name", Total: 10, Worked: true,
	}
	replay := runs.Run{
		Order:  runs.Order{Action: ledger.ActionReplayEvent, Events: find.Events{State: inbox.Skipped}, EventTerms: runs.EventTerms{Last: 7}},
		Counts: runs.Counts{Selected: 2, Changed: 2, Reopened: 1},
		ID:     18, By: ledger.Operator{Who: "ann", Via: "cli"}, CreatedAt: at, State: runs.Done, Since: at,
	}
	for name, value := range map[string]any{
		"run_full": life.OfRun(run), "run_events": life.OfRun(replay), "effect_full": detail.Data(), "effect_empty": life.Effect{}.Data(), "effect_done": plain,
		"event_full": event, "event_empty": &inbox.Event{Body: []byte{}},
		"destination_full":  plainjson.Joined{destination, fleet.Unsuccessful{Failed: 1, Parked: 2}},
		"destination_empty": plainjson.Joined{fleet.DestinationState{}, fleet.Unsuccessful{}},
	} {
		var text bytes.Buffer
		require.NoError(t, cli.PrintJSON(&text, value))
		matchesGolden(t, name, text.String())
	}
}

// varying matches values that differ between test runs.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`"20\d\d-\d\d-\d\dT[0-9:.]+(Z|[+-][0-9:]+)"`), `"TIME"`},
	{regexp.MustCompile(`"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"`), `"UUID"`},
	{regexp.MustCompile(`("(job_id|body_bytes)": )\d+`), `${1}0`},
	{regexp.MustCompile(`("(config_hash|paused_by|response_excerpt|url)": )"(?:[^"\\]|\\.)*"`), `${1}"ANY"`},
	{regexp.MustCompile(`("(Content-Length|Stripe-Signature|User-Agent)": \[\s*)"[^"]*"`), `${1}"ANY"`},
}

// matchesGolden compares JSON with testdata/json, ignoring the order of members.
func matchesGolden(t *testing.T, name, got string) {
	t.Helper()
	if strings.HasSuffix(name, "_full") {
		require.NotContains(t, got, "canary")
	} else {
		for _, p := range varying {
			got = p.pattern.ReplaceAllString(got, p.instead)
		}
	}
	path := filepath.Join("testdata", "json", name+".json")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "go test ./cmd/hooklatch -run TestJSON -update writes it")
	require.JSONEq(t, string(want), got, name)
}
