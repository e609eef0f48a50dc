// Package coverage stores the coverage of providers' lists for package backfill and the program. It
// records the time up to which no event is missing, the results of passes over a list, and the
// requested redeliveries. Package gateway/backfill performs the passes. Status, check and the
// console show the results.
package coverage

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/column"
	"github.com/hooklatch/hooklatch/internal/pipeline"
	"github.com/hooklatch/hooklatch/internal/statement"
	"github.com/hooklatch/hooklatch/outbox/commit"
	"github.com/hooklatch/hooklatch/outbox/identity"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/schema"
)

// ErrOvertaken is returned when another pass over the same list has begun. The write is refused.
var ErrOvertaken = errors.New("another pass over this list has started")

// ErrNoList is returned when no list of a source has ever been read.
var ErrNoList = errors.New("no list of this source was ever read")

//go:embed query
var queries embed.FS

// statements are the texts of query/*.sql.
type statements struct {
	AskRedeliveries     statement.Of[askRedeliveries]
	BeginPass           statement.Of[beginPass]
	BeginRun            statement.Of[beginRun]
	EndPass             statement.Of[endPass]
	EndRedeliveries     statement.Of[endRedeliveries]
	GatewayRuns         statement.Of[gatewayRuns]
	Hurry               statement.Of[hurry]
	LookPass            statement.Of[lookPass]
	MovePass            statement.Of[movePass]
	NoteEndpoint        statement.Of[noteEndpoint]
	NoteRun             statement.Of[noteRun]
	Runs                statement.Of[listRuns]
	States              statement.Bound
	WaitingRedeliveries statement.Of[waitingRedeliveries]
}

// Stream identifies one list: a source's only list, or the list of one of the accounts that the
// source's credential can access.
type Stream struct {
	Source identity.Source `json:"source"`
	Name   string          `json:"account,omitzero"` // empty: the source has only one list
}

// Options configure a Coverage.
type Options struct {
	// DB commits the results of passes. Required.
	DB *commit.DB
	// ReadPool serves reads for operators, from the same database. Required.
	ReadPool *pgxpool.Pool
	// Ledger records operator actions. Required.
	Ledger *ledger.Ledger
	// Schema holds the tables. Defaults to schema.Default.
	Schema schema.Name
}

// Coverage stores the coverage of providers' lists. It is safe for concurrent use.
type Coverage struct {
	opts Options
	sql  statements
}

// New returns a Coverage on a migrated database. It starts nothing.
func New(opts Options) (*Coverage, error) {
	if opts.DB == nil || opts.ReadPool == nil || opts.Ledger == nil {
		return nil, errors.New("coverage options: DB, ReadPool and Ledger are required")
	}
	c := &Coverage{opts: opts}
	if err := statement.Load(&c.sql, queries, "query", opts.Schema.OrDefault().SQL); err != nil {
		return nil, fmt.Errorf("coverage: %w", err)
	}
	return c, nil
}

// Pass is the initial state of a pass. Now and CreatedAt are from the database's clock.
type Pass struct {
	Stream

	Now          time.Time
	CreatedAt    time.Time // time when backfill of the list was set up
	CoveredUntil time.Time
	DeepUntil    time.Time
	PassUntil    time.Time // end of an interrupted pass, which continues at PageToken; zero: none
	PageToken    string
	Mark         string // cursor of a feed, or the largest number of a list without times
	fence        int64
	lease        time.Duration
}

type beginPass struct {
	Source    identity.Source
	Name      string
	Ordered   bool
	LeaseSecs float64
	ListsSecs float64
	TriedAt   *time.Time // start of an earlier try whose COMMIT response was lost
}

// Begin begins a pass over a list. From then on, writes of an older pass are refused. Begin returns
// nil if the list is not due. If ordered is true, an operator requested the pass, which is due
// unless the provider asked for a pause. The parameter lease is the time for which no other pass
// begins by itself; each MoveTx renews the lease. The parameter lists is the time for which the
// provider lists an event; 0: unknown.
func (c *Coverage) Begin(ctx context.Context, s Stream, ordered bool, lease, lists time.Duration) (*Pass, error) {
	var p *Pass
	err := c.opts.DB.Do(ctx, "begin_pass", commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		begun := Pass{Stream: s, lease: lease}
		asked := beginPass{Source: s.Source, Name: s.Name, Ordered: ordered, LeaseSecs: lease.Seconds(), ListsSecs: lists.Seconds()}
		if p != nil {
			asked.TriedAt, p = &p.Now, nil
		}
		var passUntil *time.Time
		err := c.sql.BeginPass.With(asked).QueryRow(ctx, tx).Scan(
			&begun.Now, &begun.CreatedAt, &begun.CoveredUntil, &begun.DeepUntil, &passUntil, &begun.PageToken, &begun.Mark, &begun.fence,
		)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		begun.PassUntil = column.OrZero(passUntil)
		p = &begun
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("begin pass over %s: %w", s.Source, err)
	}
	return p, nil
}

type lookPass struct {
	Source identity.Source
	Name   string
}

// Look returns the state with which a new pass would begin, for a pass that writes nothing. It
// returns nil if the provider asked for a pause.
func (c *Coverage) Look(ctx context.Context, s Stream) (*Pass, error) {
	p := Pass{Stream: s}
	var passUntil *time.Time
	err := c.sql.LookPass.With(lookPass(s)).QueryRow(ctx, c.opts.ReadPool).Scan(
		&p.Now, &p.CreatedAt, &p.CoveredUntil, &p.DeepUntil, &passUntil, &p.PageToken, &p.Mark,
	)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look at the coverage of %s: %w", s.Source, err)
	}
	return &p, nil
}

// Move is the progress of a pass.
type Move struct {
	CoveredUntil time.Time // zero: unchanged
	DeepUntil    time.Time // zero: unchanged
	PassUntil    time.Time // zero: the pass is complete
	PageToken    string
	Mark         string
}

type movePass struct {
	Source       identity.Source
	Name         string
	Fence        int64
	CoveredUntil *time.Time
	DeepUntil    *time.Time
	PassUntil    *time.Time
	PageToken    string
	Mark         string
	LeaseSecs    float64
}

// MoveTx records the progress of the pass, in the transaction that stores the events found so far.
// CoveredUntil does not move past an open redelivery of the list. Errors: ErrOvertaken.
func (c *Coverage) MoveTx(ctx context.Context, tx pgx.Tx, p *Pass, m Move) error {
	tag, err := c.sql.MovePass.With(movePass{
		Source: p.Source, Name: p.Name, Fence: p.fence, CoveredUntil: column.KnownTime(m.CoveredUntil), DeepUntil: column.KnownTime(m.DeepUntil),
		PassUntil: column.KnownTime(m.PassUntil), PageToken: m.PageToken, Mark: m.Mark,
		LeaseSecs: p.lease.Seconds(),
	}).Exec(ctx, tx)
	switch {
	case err != nil:
		return fmt.Errorf("move pass: %w", err)
	case tag.RowsAffected() == 0:
		return ErrOvertaken
	}
	return nil
}

// End is the result of a pass.
type End struct {
	Error      string        // empty: the pass succeeded
	Next       time.Duration // time until the next pass
	RetryAfter time.Duration // pause requested by the provider
}

type endPass struct {
	Source         identity.Source
	Name           string
	Fence          int64
	Error          string
	NextSecs       float64
	RetryAfterSecs float64
}

// End records the result of the pass, and the time of the next pass.
func (c *Coverage) End(ctx context.Context, p *Pass, e End) error {
	return c.write(ctx, "end_pass", c.sql.EndPass.With(endPass{
		Source: p.Source, Name: p.Name, Fence: p.fence, Error: e.Error, NextSecs: e.Next.Seconds(), RetryAfterSecs: e.RetryAfter.Seconds(),
	}))
}

// EndpointState describes whether the provider sends to Hooklatch.
type EndpointState string

// The values of EndpointState.
const (
	EndpointUnknown EndpointState = ""
	EndpointOn      EndpointState = "on"
	EndpointOff     EndpointState = "off"
	EndpointForeign EndpointState = "foreign" // the endpoint's URL is not Hooklatch's
)

type noteEndpoint struct {
	Source identity.Source
	Name   string
	State  EndpointState
	Why    string
}

// NoteEndpoint records the endpoint's state, and the time at which this state was first seen.
func (c *Coverage) NoteEndpoint(ctx context.Context, s Stream, state EndpointState, why string) error {
	return c.write(ctx, "note_endpoint", c.sql.NoteEndpoint.With(noteEndpoint{Source: s.Source, Name: s.Name, State: state, Why: why}))
}

type hurry struct{ Sources []identity.Source }

// Hurry makes the sources' lists due now. A starting gateway calls it, because it may have missed
// events. A list with a running pass is due when that pass has ended.
func (c *Coverage) Hurry(ctx context.Context, sources []identity.Source) error {
	return c.write(ctx, "hurry_passes", c.sql.Hurry.With(hurry{Sources: sources}))
}

// ActionRun is the operator action of RunNow.
const ActionRun ledger.Action = "backfill.run"

// RunNow is like Hurry, but for one source and as an operator action. Errors: ErrNoList.
func (c *Coverage) RunNow(ctx context.Context, source identity.Source, by ledger.Operator) error {
	what := ledger.Instruction{Action: ActionRun, Target: string(source)}
	err := c.opts.Ledger.Act(ctx, by, what, func(ctx context.Context, tx pgx.Tx) (ledger.Consequence, error) {
		rows, err := c.sql.Hurry.With(hurry{Sources: []identity.Source{source}}).Query(ctx, tx)
		if err != nil {
			return ledger.Consequence{}, err
		}
		atWork, err := pgx.CollectRows(rows, pgx.RowTo[bool])
		came := ledger.Consequence{Result: "due now", Affected: int64(len(atWork))}
		switch {
		case err == nil && len(atWork) == 0:
			err = ErrNoList
		case slices.Contains(atWork, true):
			came.Result = "due when the current pass has ended"
		}
		return came, err
	})
	if err != nil {
		return fmt.Errorf("run the passes over %s now: %w", source, err)
	}
	return nil
}

type gatewayRuns struct{ GoneAfterSecs float64 }

// GatewayRuns reports whether a process that accepts deliveries was seen within goneAfter.
func (c *Coverage) GatewayRuns(ctx context.Context, goneAfter time.Duration) (runs bool, err error) {
	err = c.opts.DB.Statement("gateway_runs", func(db pipeline.ByIndex) error {
		return c.sql.GatewayRuns.With(gatewayRuns{GoneAfterSecs: goneAfter.Seconds()}).QueryRow(ctx, db).Scan(&runs)
	})
	if err != nil {
		return false, fmt.Errorf("look for a gateway: %w", err)
	}
	return runs, nil
}

func (c *Coverage) write(ctx context.Context, name commit.Name, s statement.Bound) error {
	err := c.opts.DB.Do(ctx, name, commit.Limits{}, func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := s.Exec(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
