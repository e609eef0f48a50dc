package doctor

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hooklatch/hooklatch/outbox/measure"
	"github.com/hooklatch/hooklatch/worker/alarm"
)

// reading contains the data read from the database, and the alerts that fire.
type reading struct {
	snapshot *measure.Snapshot
	hour     measure.Sums
	alerts   []alarm.Alert
}

// judge reads waiting work and recent counts, and determines which alerts fire.
func (r *reading) judge(ctx context.Context, reader *measure.Reader, sizeBudget int64) error {
	var err error
	if r.snapshot, err = reader.Read(ctx); err != nil {
		return err
	}
	lately, err := reader.Recent(ctx, alarm.Window)
	if err != nil {
		return err
	}
	r.alerts = alarm.Judge(alarm.Facts{Snapshot: r.snapshot, Recent: lately, SizeBudget: sizeBudget})
	return nil
}

// named contains rows by name. A row is created on its first use.
type named[T any] map[string]*T

func (n named[T]) of(name string) *T {
	if n[name] == nil {
		n[name] = new(T)
	}
	return n[name]
}

// list returns all rows, ordered by name. It first passes each row with its name to the function
// called name, which stores the name in the row.
func (n named[T]) list(name func(*T, string)) []T {
	list := make([]T, 0, len(n))
	for _, one := range slices.Sorted(maps.Keys(n)) {
		name(n[one], one)
		list = append(list, *n[one])
	}
	return list
}

func (r *reading) destinations() []Destination {
	all := named[Destination]{}
	for _, d := range r.snapshot.Destinations {
		one := all.of(d.Name)
		if d.Paused {
			one.PausedAt, one.PausedBy, one.PauseReason = orZero(d.PausedAt), d.PausedBy, d.PauseReason
		}
		if d.Broken {
			one.OpenedAt, one.Breaker, one.ProbeAt = orZero(d.OpenedAt), d.BreakerReason, orZero(d.ProbeAt)
		}
	}
	for _, of := range r.snapshot.Effects {
		one := all.of(of.Destination)
		one.Effects = orNone(one.Effects)
		one.Effects[of.State] = of.Count
		if of.AtLeast {
			one.AtLeast = append(one.AtLeast, of.State)
		}
	}
	for _, of := range r.snapshot.Due {
		all.of(of.Name).OldestDue = of.At
	}
	for name, counts := range r.hour[measure.OfDestination] {
		one := all.of(name)
		one.First, one.FirstFailed = counts[measure.First], counts[measure.FirstFailed]
	}
	return all.list(func(one *Destination, name string) { one.Name, one.Effects = name, orNone(one.Effects) })
}

func (r *reading) sources(configured []string) []Source {
	all := named[Source]{}
	for _, name := range configured {
		all.of(name).configured = true
	}
	for _, of := range r.snapshot.LastAccepted {
		all.of(of.Name).LastAccepted = of.At
	}
	for _, of := range r.snapshot.Undispatched {
		one := all.of(of.Source)
		one.Undispatched, one.AtLeast, one.OldestUndispatched, one.Unserved = of.Count, of.AtLeast, of.Since, of.Unserved
	}
	for _, of := range r.snapshot.EventsAside {
		if of.State == "held" {
			all.of(of.Source).Held = of.Count
		} else {
			all.of(of.Source).Failed = of.Count
		}
	}
	for _, of := range r.snapshot.Quarantine {
		all.of(of.Source).Quarantined = of.Count
	}
	for _, of := range r.snapshot.Skipped {
		all.of(of.Source).Skipped = of.Count
	}
	for _, of := range r.snapshot.Usual {
		all.of(of.Source).UsualDuplicates = of.DuplicateRate
	}
	for _, of := range r.snapshot.Lists {
		all.of(of.Source).Backfill = backfillOf(of, r.snapshot.At)
	}
	for name, counts := range r.hour[measure.OfSource] {
		one := all.of(name)
		one.Accepted, one.Duplicates = counts[measure.Accepted], counts[measure.Duplicate]
		one.FirstAttempts, one.FirstAttemptsFailed = counts[measure.First], counts[measure.FirstFailed]
		one.Refused = refusedOf(counts)
	}
	return all.list(func(one *Source, name string) { one.Name, one.Refused = name, orNone(one.Refused) })
}

func backfillOf(of measure.List, now time.Time) *Backfill {
	b := &Backfill{
		CoveredUntil: of.CoveredUntil, Listed: of.Listed, Recovered: of.Recovered, Reported: of.Reported, Lost: of.Lost,
		Failures: of.Failures, Error: of.Error, Endpoint: of.Endpoint, EndpointWhy: of.Why,
	}
	if slack, known := of.Slack(now); known {
		b.ForgottenAt = now.Add(slack)
	}
	if of.OffSince != nil {
		b.OffSince = *of.OffSince
	}
	return b
}

// orNone returns counts that are never nil, so that JSON never shows null.
func orNone(counts map[string]int64) map[string]int64 {
	if counts == nil {
		return map[string]int64{}
	}
	return counts
}

func (r *reading) tables() []Table {
	list := make([]Table, 0, len(r.snapshot.Tables))
	for _, t := range r.snapshot.Tables {
		one := Table{Name: t.Name, Rows: t.Rows, Bytes: t.Bytes}
		if t.BytesBefore != nil && t.Days != nil {
			one.Grew, one.Days = t.Bytes-*t.BytesBefore, *t.Days
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Table) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
	return list
}

func (r *reading) processes() []Process {
	list := make([]Process, 0, len(r.snapshot.Processes))
	for _, p := range r.snapshot.Processes {
		list = append(list, Process(p))
	}
	return list
}
