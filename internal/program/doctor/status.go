package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hooklatch/hooklatch/internal/program/cells"
	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/schema"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

// hours is the number of hours in a series of hourly rates.
const hours = 24

// StatusOptions configure ReadStatus.
type StatusOptions struct {
	Pool   *pgxpool.Pool
	Schema schema.Name
	// SizeBudget is the disk space that the tables may use, in bytes. An alert fires before they
	// use all of it. 0 means no budget.
	SizeBudget int64
	// Sources returns the names of the configured sources, which are listed even if they have not
	// received anything yet. It may be nil.
	Sources func() []string
	// Of selects sources and destinations by name, with all their data. If nil, it selects all.
	Of func(name string) bool
	// AllowFsyncOff makes fsync = off a Warning instead of a Problem.
	AllowFsyncOff bool
	// Flags are added to the commands in the status.
	Flags cells.Flags
	// Awaited is true if a user waits for a page with the status: see measure.MostAwaited.
	Awaited bool
}

func (o StatusOptions) configured() []string {
	if o.Sources == nil {
		return nil
	}
	return o.Sources()
}

// Status is the state of a system. Times are from the database's clock.
type Status struct {
	At time.Time `json:"at"`
	// DeployedAt is the latest time at which a running process started or loaded its configuration.
	// It is zero if no process is running.
	DeployedAt time.Time `json:"deployed_at,omitzero"`
	// FirstAttempts is the failure rate of the first attempts of the last hour. Duplicates is the
	// duplicate rate of the events received in that hour.
	FirstAttempts Share         `json:"first_attempts"`
	Duplicates    Share         `json:"duplicates"`
	Tables        []Table       `json:"tables"`
	Needs         []alarm.Alert `json:"needs"`
	// Server lists server settings and conditions that break a guarantee or slow the server down.
	Server       []Finding     `json:"server"`
	Destinations []Destination `json:"destinations"`
	Sources      []Source      `json:"sources"`
	Processes    []Process     `json:"processes"`

	flags cells.Flags // added to the commands that Print adds
}

// NeedsSomebody reports whether an operator must act.
func (s *Status) NeedsSomebody() bool {
	return slices.ContainsFunc(s.Needs, func(a alarm.Alert) bool { return a.Severity != alarm.Notice }) ||
		slices.ContainsFunc(s.Server, func(f Finding) bool { return f.Level == Problem })
}

// Share is a part of a whole: failed first attempts, or duplicate events.
type Share struct {
	Part int64 `json:"part"`
	All  int64 `json:"all"`
	// Hours are the rates of the last 24 hours, the current hour last. An hour without data is
	// null.
	Hours []*float64 `json:"hours"`
	// Usual is the median rate at this hour of the day over the last seven days. It is nil if
	// unknown.
	Usual *float64 `json:"usual"`
}

// Rate returns Part as a fraction of All, or false if All is 0.
func (s Share) Rate() (float64, bool) { return rate(s.Part, s.All) }

func rate(part, all int64) (float64, bool) {
	if all == 0 {
		return 0, false
	}
	return float64(part) / float64(all), true
}

// Table is the size of a table with its partitions, and its growth.
type Table struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"` // estimated
	Bytes int64  `json:"bytes"`
	Grew  int64  `json:"grew_bytes,omitempty"`
	Days  int    `json:"grew_in_days,omitempty"`
}

// Destination contains the numbers of a destination's effects that wait or need attention, and the
// reasons why the destination is blocked.
type Destination struct {
	Name        string           `json:"name"`
	Effects     map[string]int64 `json:"effects"`            // number of unfinished, failed and parked effects, by state
	AtLeast     []string         `json:"at_least,omitempty"` // states whose numbers may be too low
	OldestDue   time.Time        `json:"oldest_due,omitzero"`
	PausedAt    time.Time        `json:"paused_at,omitzero"`
	PausedBy    string           `json:"paused_by,omitempty"`
	PauseReason string           `json:"pause_reason,omitempty"`
	OpenedAt    time.Time        `json:"breaker_opened_at,omitzero"`
	Breaker     string           `json:"breaker_reason,omitempty"`
	ProbeAt     time.Time        `json:"probe_at,omitzero"`
	// Counts of the last hour.
	First       int64 `json:"first_attempts"`
	FirstFailed int64 `json:"first_attempts_failed"`
}

// Source contains the counts of a source in the last hour, and its events that wait or need
// attention.
type Source struct {
	Name                string           `json:"name"`
	LastAccepted        time.Time        `json:"last_accepted,omitzero"`
	Accepted            int64            `json:"accepted"`
	Duplicates          int64            `json:"duplicates"`
	UsualDuplicates     *float64         `json:"usual_duplicates"` // rate at this hour of the day over the last seven days
	Refused             map[string]int64 `json:"refused"`          // by reason
	Quarantined         int64            `json:"quarantined"`
	Undispatched        int64            `json:"undispatched"`
	AtLeast             bool             `json:"undispatched_at_least,omitzero"` // true if Undispatched may be too low
	OldestUndispatched  time.Time        `json:"oldest_undispatched,omitzero"`
	Unserved            bool             `json:"unserved,omitzero"` // true if no running worker serves the source
	Skipped             int64            `json:"skipped"`           // events skipped in the last hour
	Failed              int64            `json:"failed"`
	Held                int64            `json:"held"`
	FirstAttempts       int64            `json:"first_attempts"`
	FirstAttemptsFailed int64            `json:"first_attempts_failed"`
	Backfill            *Backfill        `json:"backfill,omitempty"` // nil if the provider's list is not read

	configured bool
}

// Backfill describes how complete the events of a source are, compared with its provider's list.
type Backfill struct {
	CoveredUntil time.Time `json:"covered_until"`
	ForgottenAt  time.Time `json:"forgotten_at,omitzero"` // time at which the provider stops listing the events of CoveredUntil; zero if unknown
	Listed       int64     `json:"listed"`                // events listed in the last hour; the counts below are for the same hour
	Recovered    int64     `json:"recovered"`
	Reported     int64     `json:"reported"` // missing events in passes with mode: report
	Lost         int64     `json:"lost"`
	Failures     int       `json:"failures"` // consecutive failed passes
	Error        string    `json:"error,omitzero"`
	Endpoint     string    `json:"endpoint,omitzero"` // on, off or foreign
	EndpointWhy  string    `json:"endpoint_why,omitzero"`
	OffSince     time.Time `json:"endpoint_off_since,omitzero"`
}

// Process is a running process.
type Process struct {
	Name       string    `json:"name"`
	Kind       string    `json:"kind"`
	Version    string    `json:"version"`
	ConfigHash string    `json:"config_hash"`
	SeenAt     time.Time `json:"seen_at"`
}

// ReadStatus reads a Status. Package measure documents the cost.
func ReadStatus(ctx context.Context, opts StatusOptions) (*Status, error) {
	reader, err := measure.NewReader(opts.Pool, opts.Schema)
	if err != nil {
		return nil, err
	}
	if opts.Awaited {
		reader = reader.Awaited()
	}
	r := reading{}
	if err := r.judge(ctx, reader, opts.SizeBudget); err != nil {
		return nil, err
	}
	if r.hour, err = reader.Recent(ctx, time.Hour); err != nil {
		return nil, err
	}
	attempts, err := reader.ByHour(ctx, measure.OfDestination, hours, measure.First, measure.FirstFailed)
	if err != nil {
		return nil, err
	}
	events, err := reader.ByHour(ctx, measure.OfSource, hours, measure.Accepted, measure.Duplicate)
	if err != nil {
		return nil, err
	}
	usualAttempts, err := reader.UsualShare(ctx, measure.OfDestination, measure.FirstFailed, measure.First)
	if err != nil {
		return nil, err
	}
	usualEvents, err := reader.UsualShare(ctx, measure.OfSource, measure.Duplicate, measure.Accepted, measure.Duplicate)
	if err != nil {
		return nil, err
	}
	server, err := Server(ctx, opts.Pool, ServerOptions{Schema: opts.Schema, AllowFsyncOff: opts.AllowFsyncOff})
	if err != nil {
		return nil, err
	}
	s := &Status{
		flags:      opts.Flags,
		Server:     slices.DeleteFunc(append([]Finding{}, server...), func(f Finding) bool { return f.Level == OK }),
		At:         r.snapshot.At,
		DeployedAt: orZero(r.snapshot.DeployedAt),
		FirstAttempts: Share{
			Hours: shares(attempts[measure.FirstFailed], attempts[measure.First]),
			Usual: usualAttempts,
		},
		Duplicates: Share{
			Hours: shares(events[measure.Duplicate], sum(events[measure.Accepted], events[measure.Duplicate])),
			Usual: usualEvents,
		},
		Needs:  append([]alarm.Alert{}, r.alerts...), // [] in JSON, not null
		Tables: r.tables(), Destinations: r.destinations(), Sources: r.sources(opts.configured()), Processes: r.processes(),
	}
	for i := range s.Needs {
		s.Needs[i].Command = opts.Flags.AddTo(s.Needs[i].Command)
	}
	for i := range s.Server {
		s.Server[i].Fix = opts.Flags.AddTo(s.Server[i].Fix)
	}
	s.keep(opts.Of)
	for _, d := range s.Destinations {
		s.FirstAttempts.Part += d.FirstFailed
		s.FirstAttempts.All += d.First
	}
	for _, of := range s.Sources {
		s.Duplicates.Part += of.Duplicates
		s.Duplicates.All += of.Accepted + of.Duplicates
	}
	return s, nil
}

// keep removes the sources and destinations for which the function named of returns false, and
// their alerts. Share.Hours and Share.Usual still cover all sources and destinations.
func (s *Status) keep(of func(name string) bool) {
	if of == nil {
		return
	}
	left := map[string]bool{}
	s.Destinations = slices.DeleteFunc(s.Destinations, func(d Destination) bool {
		left[d.Name] = !of(d.Name)
		return left[d.Name]
	})
	s.Sources = slices.DeleteFunc(s.Sources, func(one Source) bool {
		left[one.Name] = !of(one.Name)
		return left[one.Name]
	})
	s.Needs = slices.DeleteFunc(s.Needs, func(a alarm.Alert) bool { return left[a.Subject] })
}

// shares returns the hourly rates.
func shares(part, all []int64) []*float64 {
	list := make([]*float64, len(all))
	for i := range all {
		if share, some := rate(part[i], all[i]); some {
			list[i] = &share
		}
	}
	return list
}

func sum(a, b []int64) []int64 {
	list := make([]int64, len(a))
	for i := range a {
		list[i] = a[i] + b[i]
	}
	return list
}

// refusedOf returns the refusals in counts, by reason.
func refusedOf(counts map[measure.What]int64) map[string]int64 {
	refused := map[string]int64{}
	for what, n := range counts {
		if reason, is := strings.CutPrefix(string(what), string(measure.Refused(""))); is {
			refused[reason] = n
		}
	}
	return refused
}
