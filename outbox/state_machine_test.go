package outbox

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

var allStates = []ledger.EffectState{
	ledger.EffectPending, ledger.EffectStarted, ledger.EffectDone, ledger.EffectFailed, ledger.EffectInDoubt, ledger.EffectParked, ledger.EffectCancelled,
}

// The table in the documentation of package ledger, with its notes, allows exactly the transitions
// in legal. TestEveryTransition compares legal with the database.
func TestTheTableOfStatesIsWhatTheDatabaseKeeps(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("ledger/doc.go")
	require.NoError(t, err)
	state := regexp.MustCompile(`\b(pending|started|in_doubt|done|failed|parked|cancelled)\b`)
	row := regexp.MustCompile(`^//\s+(\w+)\s*\|(.*)$`)
	noteBegins := regexp.MustCompile(`^//\s+(\d)\. `)
	cells, notes, note := map[string][]string{}, map[string][]string{}, ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if r := row.FindStringSubmatch(line); r != nil {
			cells[r[1]] = strings.Split(r[2], "|")
		}
		if n := noteBegins.FindStringSubmatch(line); n != nil {
			note = n[1]
		}
		if line == "//" {
			note = ""
		}
		notes[note] = append(notes[note], state.FindAllString(line, -1)...)
	}
	delete(notes, "")
	require.Len(t, cells, len(allStates))
	require.Len(t, notes, 4)
	for _, from := range allStates {
		allowed := map[ledger.EffectState]bool{}
		for _, cell := range cells[string(from)] {
			more := notes[strings.TrimLeft(cell, " -abcdefghijklmnopqrstuvwxyz_")]
			for _, to := range append(state.FindAllString(cell, -1), more...) {
				allowed[ledger.EffectState(to)] = true
			}
		}
		require.ElementsMatch(t, legal[from], slices.Collect(maps.Keys(allowed)), "from %s", from)
	}
}

// legal is the table in the documentation of package ledger.
var legal = map[ledger.EffectState][]ledger.EffectState{
	ledger.EffectPending:   {ledger.EffectStarted, ledger.EffectParked, ledger.EffectCancelled},
	ledger.EffectInDoubt:   {ledger.EffectStarted, ledger.EffectParked, ledger.EffectCancelled},
	ledger.EffectStarted:   {ledger.EffectStarted, ledger.EffectDone, ledger.EffectFailed, ledger.EffectPending, ledger.EffectInDoubt, ledger.EffectParked, ledger.EffectCancelled},
	ledger.EffectFailed:    {ledger.EffectPending, ledger.EffectInDoubt, ledger.EffectCancelled},
	ledger.EffectParked:    {ledger.EffectPending, ledger.EffectInDoubt, ledger.EffectCancelled},
	ledger.EffectCancelled: {ledger.EffectPending, ledger.EffectInDoubt},
	ledger.EffectDone:      nil,
}

// in creates an effect and brings it into a state by regular calls.
func (b *bundle) in(t *testing.T, key string, state ledger.EffectState) identity.EffectID {
	t.Helper()
	id := b.dispatched(t, key, ledger.AtLeastOnce)
	settle := func(s ledger.Settlement) { b.settle(t, b.granted(t, id, lease), s) }
	switch state {
	case ledger.EffectStarted:
		b.granted(t, id, time.Nanosecond)
	case ledger.EffectDone:
		settle(ledger.Settlement{Verdict: ledger.VerdictDone})
	case ledger.EffectFailed:
		settle(ledger.Settlement{Verdict: ledger.VerdictRefused, Error: "no"})
	case ledger.EffectInDoubt:
		settle(ledger.Settlement{Verdict: ledger.VerdictMaybeApplied, Error: "timed out"})
	case ledger.EffectParked:
		require.NoError(t, b.Ledger().Park(t.Context(), id.IdempotencyKey(), because("look at it")))
	case ledger.EffectCancelled:
		require.NoError(t, b.Ledger().Cancel(t.Context(), id.IdempotencyKey(), because("not wanted")))
	case ledger.EffectPending:
	}
	require.Equal(t, state, b.effect(t, id).State)
	return id
}

// move changes the state manually, with the columns that the state needs to be consistent.
func (b *bundle) move(t *testing.T, id identity.EffectID, to ledger.EffectState) error {
	t.Helper()
	set := map[ledger.EffectState]string{
		ledger.EffectStarted: `state = 'started', attempt = attempt + 1, claim_id = gen_random_uuid(), lease_until = now() + interval '1 minute', last_attempt_at = now()`,
		ledger.EffectInDoubt: `state = 'in_doubt', claim_id = NULL, lease_until = NULL, maybe_applied_since = COALESCE(maybe_applied_since, now())`,
	}[to]
	if set == "" {
		set = fmt.Sprintf(`state = '%s', claim_id = NULL, lease_until = NULL, error = 'by hand'`, to)
	}
	_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET `+set+` WHERE idempotency_key = $1`, id.IdempotencyKey())
	return err
}

// The test tries every transition, including the illegal ones, with a handwritten statement.
func TestEveryTransition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, from := range allStates {
		for _, to := range allStates {
			id := b.in(t, string(from)+" to "+string(to), from)
			before, err := b.Ledger().Transitions(t.Context(), id)
			require.NoError(t, err)
			attempts, err := b.Ledger().Attempts(t.Context(), id)
			require.NoError(t, err)

			err = b.move(t, id, to)
			allowed := from == to && from != ledger.EffectStarted
			for _, next := range legal[from] {
				allowed = allowed || next == to
			}
			if !allowed {
				var pg *pgconn.PgError
				require.ErrorAs(t, err, &pg, "%s to %s must be refused", from, to)
				require.Equal(t, "legal_transition", pg.ConstraintName, "%s to %s: %v", from, to, err)
				require.Equal(t, from, b.effect(t, id).State)
				continue
			}
			require.NoError(t, err, "%s to %s must be allowed", from, to)
			after, err := b.Ledger().Transitions(t.Context(), id)
			require.NoError(t, err)
			if from == to && from != ledger.EffectStarted {
				require.Len(t, after, len(before), "nothing changed")
				continue
			}
			require.Len(t, after, len(before)+1, "%s to %s must be recorded", from, to)
			last := after[len(after)-1]
			require.Equal(t, from, last.From)
			require.Equal(t, to, last.To)
			require.Equal(t, ledger.EffectPending, after[0].To)
			require.Empty(t, after[0].From)
			if from == ledger.EffectStarted {
				ended, err := b.Ledger().Attempts(t.Context(), id)
				require.NoError(t, err)
				require.Len(t, ended, len(attempts)+1, "an attempt that leaves the state started is recorded")
				require.True(t, ended[len(ended)-1].Lost)
			}
		}
	}
}

// The database refuses changes that would falsify an effect's history.
func TestLedgerRefusesTampering(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct {
		from ledger.EffectState
		set  string
	}{
		"lose its doubt":                   {ledger.EffectInDoubt, `state = 'parked', maybe_applied_since = NULL`},
		"move its doubt":                   {ledger.EffectInDoubt, `maybe_applied_since = now() + interval '1 day'`},
		"change its key":                   {ledger.EffectPending, `key = 'another'`},
		"change its idempotency key":       {ledger.EffectPending, `idempotency_key = 'hl_another'`},
		"count attempts outside of starts": {ledger.EffectPending, `attempt = attempt + 1`},
		"skip an attempt":                  {ledger.EffectPending, `state = 'started', attempt = attempt + 2, claim_id = gen_random_uuid(), lease_until = now()`},
		"rotate keys back":                 {ledger.EffectPending, `key_rotations = -1`},
		"be done and claimed":              {ledger.EffectStarted, `state = 'done'`},
		"change its number":                {ledger.EffectPending, `effect_id = effect_id + 1`},
	} {
		id := b.in(t, name, c.from)
		_, err := b.pool.Exec(t.Context(), `UPDATE hooklatch.effects SET `+c.set+` WHERE idempotency_key = $1`, id.IdempotencyKey())
		var pg *pgconn.PgError
		require.ErrorAs(t, err, &pg, name)
		require.Equal(t, "legal_transition", pg.ConstraintName, name)
	}
	t.Run("take a live lease", func(t *testing.T) {
		t.Parallel()
		id := b.dispatched(t, "live", ledger.AtLeastOnce)
		b.granted(t, id, lease)
		require.Error(t, b.move(t, id, ledger.EffectStarted))
	})
	t.Run("begin anywhere else", func(t *testing.T) {
		t.Parallel()
		_, err := b.pool.Exec(t.Context(), `INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state)
			VALUES ('s', 'k', 'hl_x', 'app', 'dst_app', 'at_least_once', 'done')`)
		require.ErrorContains(t, err, "no transition from nothing (attempt 0) to done")
	})
}

// Each operator action is tried in every state.
func TestOperatorsOrders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	orders := map[string]func(string) error{
		"retry":  func(key string) error { return b.Ledger().Retry(t.Context(), key, ann) },
		"cancel": func(key string) error { return b.Ledger().Cancel(t.Context(), key, because("no")) },
		"park":   func(key string) error { return b.Ledger().Park(t.Context(), key, because("no")) },
	}
	want := map[string]map[ledger.EffectState]ledger.EffectState{
		"retry": {ledger.EffectFailed: ledger.EffectPending, ledger.EffectParked: ledger.EffectPending, ledger.EffectCancelled: ledger.EffectPending},
		"cancel": {
			ledger.EffectPending: ledger.EffectCancelled, ledger.EffectStarted: ledger.EffectCancelled, ledger.EffectInDoubt: ledger.EffectCancelled,
			ledger.EffectFailed: ledger.EffectCancelled, ledger.EffectParked: ledger.EffectCancelled,
		},
		"park": {ledger.EffectPending: ledger.EffectParked, ledger.EffectStarted: ledger.EffectParked, ledger.EffectInDoubt: ledger.EffectParked},
	}
	for name, order := range orders {
		for _, state := range allStates {
			id := b.in(t, name+" "+string(state), state)
			err := order(id.IdempotencyKey())
			next, allowed := want[name][state]
			if !allowed {
				var wrong *ledger.StateError
				require.ErrorAs(t, err, &wrong, "%s of %s", name, state)
				require.Equal(t, state, wrong.State)
				continue
			}
			require.NoError(t, err, "%s of %s", name, state)
			e := b.effect(t, id)
			require.Equal(t, next, e.State, "%s of %s", name, state)
			require.Equal(t, next.Finished(), !e.FinishedAt.IsZero())
			if state == ledger.EffectStarted {
				require.False(t, e.MaybeAppliedSince.IsZero(), "the attempt may still be applied")
			}
		}
		require.ErrorIs(t, order("hl_none"), ledger.ErrNotFound)
	}
}
