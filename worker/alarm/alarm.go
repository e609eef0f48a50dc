package alarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema"
)

// Options configure an Alarm.
type Options struct {
	// Pool connects to the migrated database. Required.
	Pool *pgxpool.Pool
	// Schema is the Postgres schema of the tables. Defaults to schema.Default.
	Schema schema.Name
	// Enqueue is outbox.Outbox.EnqueueTx. Required.
	Enqueue func(ctx context.Context, tx pgx.Tx, e outbox.Enqueue) (bool, error)
	// To are the targets to notify, in the order in which they are tried.
	To []Target
	// TeamOf returns the team that owns the alert's source or destination. If nil, no alert
	// has a team.
	TeamOf func(a Alert) string
	// For is the minimum time that an alert must fire before a notification is sent. Defaults to 2
	// minutes.
	For time.Duration
	// Repeat is the interval at which an alert is sent again. Defaults to 4 hours.
	Repeat time.Duration
	// SizeBudget is the intended maximum size of all tables in bytes. If 0, no alert watches the size.
	SizeBudget int64
	// Away returns the names of the unavailable cells, if this cell reports them. If nil, there are no
	// other cells.
	Away func(ctx context.Context) []string
	// Beat is called after each successful turn. If nil, no heartbeat is sent.
	Beat func(ctx context.Context) error
	// Logger defaults to a logger that discards everything.
	Logger *slog.Logger
}

// Alarm sends alerts to targets. It is safe for concurrent use.
type Alarm struct {
	opts    Options
	db      *commit.DB
	sql     statements
	measure *measure.Reader
}

// New returns an Alarm. It does nothing until Turn is called.
func New(opts Options) (*Alarm, error) {
	opts.Schema = opts.Schema.OrDefault()
	opts.For, opts.Repeat = cmp.Or(opts.For, DefaultFor), cmp.Or(opts.Repeat, DefaultRepeat)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Pool == nil || opts.Enqueue == nil {
		return nil, errors.New("alarm options: Pool and Enqueue are required")
	}
	a := &Alarm{opts: opts}
	var err error
	if a.sql, err = loadStatements(opts.Schema); err != nil {
		return nil, fmt.Errorf("alarm: %w", err)
	}
	if a.db, err = commit.New(commit.Options{Pool: opts.Pool}); err != nil {
		return nil, fmt.Errorf("alarm: %w", err)
	}
	a.measure, err = measure.NewReader(opts.Pool, opts.Schema)
	return a, err
}

// Turn decides which alerts to send to which targets, and enqueues the notifications. It then calls
// Options.Beat. One worker at a time calls Turn, every 15 seconds.
func (a *Alarm) Turn(ctx context.Context) error {
	snapshot, err := a.measure.Read(ctx)
	if err != nil {
		return err
	}
	lately, err := a.measure.Recent(ctx, Window)
	if err != nil {
		return err
	}
	facts := Facts{Snapshot: snapshot, Recent: lately, SizeBudget: a.opts.SizeBudget}
	if a.opts.Away != nil {
		facts.Away = a.opts.Away(ctx)
	}
	found := Judge(facts)
	if err := a.tell(ctx, found); err != nil {
		return err
	}
	if a.opts.Beat == nil {
		return nil
	}
	if err := a.opts.Beat(ctx); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	return nil
}

// tell stores the firing alerts and enqueues the notifications, in one transaction. It does nothing
// while another process does the same.
func (a *Alarm) tell(ctx context.Context, found []Alert) error {
	var told []Message
	err := a.db.Do(ctx, "alarm", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		told = nil
		var mine bool
		var now time.Time
		if err := a.sql.Lock.With(lock{Name: string(a.opts.Schema) + ".alarm"}).QueryRow(ctx, tx).Scan(&mine, &now); err != nil || !mine {
			return err
		}
		states, err := a.states(ctx, tx)
		if err != nil {
			return err
		}
		muted, err := a.muted(ctx, tx)
		if err != nil {
			return err
		}
		d := decision{now: now, to: a.targetsOf, destinations: a.destinations(), lasts: a.opts.For, repeat: a.opts.Repeat, muted: muted}
		keep, gone := d.decide(states, found)
		for i := range d.messages {
			m := &d.messages[i]
			key, err := a.enqueue(ctx, tx, m)
			if err != nil {
				return fmt.Errorf("notify %s: %w", m.to, err)
			}
			m.state.EffectKey = key
		}
		told = d.messages
		if _, err := a.sql.StoreStates.With(storeStates{States: stored(keep)}).Exec(ctx, tx); err != nil {
			return err
		}
		_, err = a.sql.EndStates.With(endStates{States: gone}).Exec(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("decide which alerts to send: %w", err)
	}
	for _, m := range told {
		if !m.created {
			continue
		}
		a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "alert sent",
			slog.String(logkey.Alert, m.Alert.Name), slog.String(logkey.Subject, m.Alert.Subject),
			slog.String(logkey.Status, string(m.What)), slog.String(logkey.Destination, a.opts.To[m.target].Destination))
	}
	return nil
}

// destinations returns the destination of each target.
func (a *Alarm) destinations() []string {
	names := make([]string, 0, len(a.opts.To))
	for _, to := range a.opts.To {
		names = append(names, to.Destination)
	}
	return names
}

// enqueue creates the effect that sends a message, and returns the effect's key.
func (a *Alarm) enqueue(ctx context.Context, tx pgx.Tx, m *Message) (string, error) {
	to := a.opts.To[m.target]
	m.to = to.Destination
	request, err := to.Request(*m)
	if err != nil {
		return "", err
	}
	key := m.key(to.Destination)
	m.created, err = a.opts.Enqueue(ctx, tx, outbox.Enqueue{
		Destination: to.Destination, Key: identity.Key(key), Request: request, Policy: ledger.AtLeastOnce,
		// After an outage, the message that an alert resolved must not arrive before the message
		// that it fired.
		OrderKey: m.incident() + " " + strconv.Itoa(m.target), OnPark: ledger.OnParkSkip,
	})
	return key, err
}
