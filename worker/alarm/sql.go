package alarm

import (
	"context"
	"embed"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hooklatch/hooklatch/internal/plainjson"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/schema"
)

//go:embed query
var queries embed.FS

// statements contains the SQL statements in query/*.sql.
type statements struct {
	EndStates   statement.Of[endStates]
	ListStates  statement.Bound
	Lock        statement.Of[lock]
	Mute        statement.Of[mute]
	Mutes       statement.Bound
	States      statement.Bound
	StoreStates statement.Of[storeStates]
}

func loadStatements(name schema.Name) (statements, error) {
	var s statements
	err := statement.Load(&s, queries, "query", name.SQL)
	return s, err
}

// Parameters of the statements.

type lock struct{ Name string }

type mute struct {
	Name        string
	MuteSeconds float64
	MutedBy     string
	Reason      string
}

type endStates struct{ States []stateKey }

type storeStates struct{ States []storedState }

type storedState struct {
	Name, Subject, Severity, Message, Command string

	Count           int64
	Since           *time.Time
	BeganAt, SeenAt time.Time
	ToldAt          *time.Time
	TimesTold       int32
	Target          int32
	EffectKey       string
}

func stored(states []*state) []storedState {
	rows := make([]storedState, 0, len(states))
	for _, s := range states {
		rows = append(rows, storedState{
			Name: s.Name, Subject: s.Subject, Severity: string(s.Severity), Message: s.Message, Command: s.Command,
			Count: s.Count, Since: plainjson.OrNull(s.Since), BeganAt: s.BeganAt, SeenAt: s.SeenAt, ToldAt: plainjson.OrNull(s.ToldAt),
			TimesTold: int32(s.TimesTold), Target: int32(s.Target), EffectKey: s.EffectKey, //nolint:gosec // small numbers
		})
	}
	return rows
}

func (a *Alarm) states(ctx context.Context, tx pgx.Tx) ([]*state, error) {
	rows, err := a.sql.States.Query(ctx, tx)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*state, error) {
		s := &state{}
		var severity string
		var since, told *time.Time
		err := row.Scan(&s.Name, &s.Subject, &severity, &s.Message, &s.Command, &s.Count, &since,
			&s.BeganAt, &s.SeenAt, &told, &s.TimesTold, &s.Target, &s.EffectKey, &s.Came)
		s.Severity, s.Since, s.ToldAt = Severity(severity), orZero(since), orZero(told)
		return s, err
	})
}

func (a *Alarm) muted(ctx context.Context, tx pgx.Tx) (map[string]bool, error) {
	rows, err := a.sql.Mutes.Query(ctx, tx)
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	muted := make(map[string]bool, len(names))
	for _, name := range names {
		muted[name] = true
	}
	return muted, err
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
