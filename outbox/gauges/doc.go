// Package gauges reads how much is waiting, since when, and what is usual: for the
// metrics of all processes, for `hooklatch status`, and for alerts.
//
// One process at a time reads it for the metrics, under a lease in the database, and
// exports it while the lease lasts; the others export none of it, so that a sum over all
// processes is right and nothing is stale. What it costs is bounded however much waits:
// effects and undispatched events are counted up to Most of each, or MostAwaited, what
// is set aside up to MostAside, and a collector rests twenty times as long as it read.
//
// What is usual is the median of the same hour of the last seven days, from the counts
// of package minutes.
package gauges
