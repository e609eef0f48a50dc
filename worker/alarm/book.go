package alarm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// ActionMute is the action of Mute in the operator log.
const ActionMute ledger.Action = "alert.mute"

// Book lists and mutes alerts for operators.
type Book struct {
	pool   *pgxpool.Pool
	sql    statements
	ledger *ledger.Ledger
}

// NewBook returns the Book of a migrated database.
func NewBook(pool *pgxpool.Pool, name schema.Name, l *ledger.Ledger) (*Book, error) {
	sql, err := loadStatements(name.OrDefault())
	if err != nil {
		return nil, fmt.Errorf("alarm: %w", err)
	}
	return &Book{pool, sql, l}, nil
}

// Entry is a firing alert, or the mute of a condition that does not fire. The entry of such a mute
// has only a name and the fields of the mute.
type Entry struct {
	Alert

	ToldAt     time.Time `json:"told_at,omitzero"`
	TimesTold  int       `json:"times_told"`
	MutedUntil time.Time `json:"muted_until,omitzero"`
	MutedBy    string    `json:"muted_by,omitempty"`
}

// List returns the firing alerts, as of the last turn, and the mutes.
func (b *Book) List(ctx context.Context) ([]Entry, error) {
	rows, err := b.sql.ListStates.Query(ctx, b.pool)
	var list []Entry
	if err == nil {
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Entry, error) {
			var e Entry
			var severity string
			var since, told, muted *time.Time
			err := row.Scan(&e.Name, &e.Subject, &severity, &e.Message, &e.Command, &e.Count, &since, &told, &e.TimesTold, &muted, &e.MutedBy)
			e.Severity, e.Since, e.ToldAt, e.MutedUntil = Severity(severity), orZero(since), orZero(told), orZero(muted)
			return e, err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("list alerts: %w", err)
	}
	return list, nil
}

// UnknownError is returned for the name of an unknown condition.
type UnknownError struct{ Name string }

// Error implements error.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown alert %q; known alerts: %s", e.Name, strings.Join(Names(), ", "))
}

// Mute mutes a condition for the given time, or ends its mute if length is 0. Errors:
// *UnknownError.
func (b *Book) Mute(ctx context.Context, name string, length time.Duration, by ledger.Operator) error {
	if !slices.Contains(Names(), name) {
		return &UnknownError{name}
	}
	err := b.ledger.Act(ctx, by, ledger.Instruction{Action: ActionMute, Target: name}, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		order := mute{Name: name, MuteSeconds: length.Seconds(), MutedBy: by.Who, Reason: by.Reason}
		if _, err := b.sql.Mute.With(order).Exec(ctx, tx); err != nil {
			return ledger.Consequence{}, err
		}
		return ledger.Consequence{Result: "for " + length.String(), Affected: 1}, nil
	})
	if err != nil {
		return fmt.Errorf("mute %s: %w", name, err)
	}
	return nil
}
