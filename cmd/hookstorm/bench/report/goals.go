package report

import (
	"fmt"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
)

// Goal is a target for a value that is computed from the measurements of a run.
type Goal struct {
	Name string
	Unit string
	// Want is the target: a lower bound if AtLeast is true, an upper bound otherwise.
	Want    float64
	AtLeast bool
	// Loose is the bound that must hold even in a quick run on a busy machine; 0 if the goal has
	// none.
	Loose float64
	// From describes the measurements behind the goal.
	From string

	of measure
}

// measure returns a value for each round, or none if the run lacks the measurements.
type measure func(r *Report) []float64

// of returns the measure that adds up quantities of one subject.
func of(section, who string, quantities ...Quantity) measure {
	return func(r *Report) []float64 { return r.sum(section, who, quantities...) }
}

// naives returns the measure that adds up quantities of the faster variant of the naive pattern.
func naives(section string, quantities ...Quantity) measure {
	return func(r *Report) []float64 { return r.sum(section, r.fasterNaive(), quantities...) }
}

// per divides the measure by another one, round by round.
func (m measure) per(by measure) measure {
	return func(r *Report) []float64 { return ratio(m(r), by(r)) }
}

// lessBody subtracts the size of an event's body.
func (m measure) lessBody() measure {
	return func(r *Report) []float64 { return minus(m(r), load.DefaultSize) }
}

const (
	least = true
	most  = false
)

// Goals returns all goals, in the order of the report.
func Goals() []Goal {
	knownBefore := fmt.Sprintf(DuplicateShare, 100.0)
	return []Goal{
		{"accept: CPU of gateway and Postgres, relative to naive", "x", 0.36, most, 1.5, "server + Postgres, Hooklatch / faster naive",
			of(SectionAccept, Hooklatch, CPUServer, CPUPostgres).per(naives(SectionAccept, CPUServer, CPUPostgres))},
		{"accept: rate, relative to naive", "x", 2.2, least, 0.5, "rate, Hooklatch / faster naive",
			of(SectionAccept, Hooklatch, Rate).per(naives(SectionAccept, Rate))},
		{"accept: rate, relative to the limit", "x", 0.28, least, 0.03, "rate, Hooklatch / limit",
			of(SectionAccept, Hooklatch, Rate).per(of(SectionAccept, Limit, Rate))},
		{"accept: WAL in addition to the payload", "B", 1500, most, 4000, "WAL without page images, less the body",
			of(SectionAccept, Hooklatch, WALWithoutImages).lessBody()},
		{"accept: median latency of 1 connection, relative to naive", "x", 1.15, most, 4, "p50, Hooklatch / faster naive",
			of(SectionSingle, Hooklatch, P50).per(naives(SectionSingle, P50))},

		{"full lifecycle: rate, relative to naive's accept", "x", 0.6, least, 0.03, "rate, life / faster naive",
			of(SectionLife, WholeLife, Rate).per(naives(SectionAccept, Rate))},
		{"full lifecycle: CPU of Postgres, relative to naive", "x", 2.0, most, 20, "Postgres, life / faster naive",
			of(SectionLife, WholeLife, CPUPostgres).per(naives(SectionAccept, CPUPostgres))},
		{"full lifecycle: CPU of gateway and worker, relative to naive's server", "x", 2.2, most, 20, "gateway + worker / server of the faster naive",
			of(SectionLife, WholeLife, CPUServer, CPUWorker).per(naives(SectionAccept, CPUServer))},
		{"full lifecycle: WAL in addition to the payload", "B", 6000, most, 40_000, "WAL, less the body",
			of(SectionLife, WholeLife, WAL).lessBody()},

		{"backlog: rate of the middle 80 %, relative to naive's accept", "x", 1.0, least, 0.02, "rate, backlog / faster naive",
			of(SectionBacklog, WholeLife, Rate).per(naives(SectionAccept, Rate))},
		{"backlog: first delivery after the receiver is back", "s", 1.2, most, 20, "first delivery",
			of(SectionBacklog, WholeLife, FirstDelivery)},
		{"idle: POST to the receiver's first byte, median", "ms", 6, most, 500, "p50", of(SectionIdle, WholeLife, P50)},
		{"idle: POST to the receiver's first byte, p99", "ms", 20, most, 2000, "p99", of(SectionIdle, WholeLife, P99)},
		{"idle: transactions without events", "/s", 8, most, 100, "transactions, gateway and worker", of(SectionIdle, WholeLife, Transactions)},

		{"peers, accept: rate, relative to the River program", "x", 3.4, least, 0.3, "rate, Hooklatch / River program",
			of(SectionPeersAccept, Hooklatch, Rate).per(of(SectionPeersAccept, RiverProgram, Rate))},
		{"peers, accept: CPU of gateway and Postgres, relative to the River program", "x", 0.25, most, 3, "server + Postgres, Hooklatch / River program",
			of(SectionPeersAccept, Hooklatch, CPUServer, CPUPostgres).per(of(SectionPeersAccept, RiverProgram, CPUServer, CPUPostgres))},
		{"peers, accept: memory of a gateway", "MB", 83.9, most, 300, "memory", of(SectionPeersAccept, Hooklatch, Memory)},
		{"peers, full lifecycle: rate, relative to the River program", "x", 1.4, least, 0.05, "rate, Hooklatch / River program",
			of(SectionPeersLife, Serve, Rate).per(of(SectionPeersLife, RiverProgram, Rate))},
		{"peers, full lifecycle: CPU of Postgres, relative to the River program", "x", 0.55, most, 20, "Postgres, Hooklatch / River program",
			of(SectionPeersLife, Serve, CPUPostgres).per(of(SectionPeersLife, RiverProgram, CPUPostgres))},
		{"peers, full lifecycle: WAL", "B", 5000, most, 40_000, "WAL", of(SectionPeersLife, Serve, WAL)},
		{"peers, drain: rate of the middle 80 %, relative to the River program", "x", 0.9, least, 0.05, "rate, Hooklatch / River program",
			of(SectionPeersDrain, Serve, Rate).per(of(SectionPeersDrain, RiverProgram, Rate))},
		{"peers, drain: CPU of all processes and Postgres, relative to the River program", "x", 1.3, most, 20, "server + Postgres, Hooklatch / River program",
			of(SectionPeersDrain, Serve, CPUServer, CPUPostgres).per(of(SectionPeersDrain, RiverProgram, CPUServer, CPUPostgres))},
		{"peers, idle: POST to the receiver's first byte, median", "ms", 3.6, most, 500, "p50", of(SectionPeersIdle, Serve, P50)},
		{"peers, idle: POST to the receiver's first byte, p99", "ms", 9, most, 2000, "p99", of(SectionPeersIdle, Serve, P99)},

		{"1,000,000 effects waiting: rate of another destination, relative to empty tables", "x", 0.9, least, 0.1,
			"rate, with waiting effects / on empty tables",
			of(SectionWaiting, BesideWaiting, Rate).per(of(SectionWaiting, Empty, Rate))},
		{"1,000,000 effects waiting: rate right after a checkpoint, relative to empty tables", "x", 0.9, least, 0.1,
			"rate after a checkpoint, with waiting effects / on empty tables",
			of(SectionWaiting, BesideWaitingAtFirst, Rate).per(of(SectionWaiting, EmptyAtFirst, Rate))},
		{"1,000,000 effects waiting: first delivery after the destination is resumed", "s", 2, most, 30, "first delivery",
			of(SectionResumed, WholeLife, FirstDelivery)},
		{"1,000,000 effects waiting: rate at the beginning of the drain, relative to its end", "x", 0.9, least, 0.1,
			"rate at the beginning / at the end",
			of(SectionResumed, WholeLife, RateBeginning).per(of(SectionResumed, WholeLife, RateEnd))},
		{"1,000,000 effects waiting: reconcile", "s", 5, most, 30, "the longest run of reconcile", of(SectionResumed, WholeLife, ReconcileTime)},
		{"1,000,000 effects waiting: temporary files", "", 0, most, 0, "temporary files of the database", of(SectionResumed, WholeLife, TemporaryFiles)},
		{"order: time between deliveries with 50,000 waiting, relative to 10 waiting", "x", 1.5, most, 20, "from one delivery to the next, 50,000 / 10",
			of(SectionOrder, ManyWaiting, BetweenHeads).per(of(SectionOrder, FewWaiting, BetweenHeads))},
		{"never analysed: rate of a full lifecycle, relative to the analysed copy", "x", 0.9, least, 0.1, "rate, never analysed / analysed",
			of(SectionCold, NeverAnalysed, Rate).per(of(SectionCold, Analysed, Rate))},
		{"10 M dedup rows of random ids: rate of accept, relative to the empty table", "x", 0.85, least, 0.2, "rate, random ids / empty",
			of(SectionGrowth, GrownRandom, Rate).per(of(SectionGrowth, Empty, Rate))},
		{"10 M dedup rows of random ids: rate right after a checkpoint, relative to the empty table", "x", 0.85, least, 0.2,
			"rate after a checkpoint, random ids / empty",
			of(SectionGrowth, GrownRandomAtFirst, Rate).per(of(SectionGrowth, EmptyAtFirst, Rate))},
		{"10 M events and effects: WAL of a lifecycle after a checkpoint, relative to the previous commit", "x", 0.5, most, 2, "WAL, this tree / previous commit",
			of(SectionYears, ThisTree, WAL).per(of(SectionYears, PreviousCommit, WAL))},
		{"standby 5 ms away, 4 gateways: simultaneous commits, relative to one at a time", "x", 3, least, 1, "commits at once",
			of(SectionStandby, FourGateways, CommitsAtOnce)},
		{"duplicates only: CPU of gateway and Postgres, relative to the limit", "x", 1.4, most, 6, "server + Postgres, 100 % duplicates / limit",
			of(SectionDuplicates, knownBefore, CPUServer, CPUPostgres).per(of(SectionDuplicates, Limit, CPUServer))},
		{"duplicates of other gateways: CPU of all processes with Redis, relative to no Redis", "x", 0.6, most, 5, "servers + Postgres + Redis, with Redis / without",
			of(SectionShared, SharedMemory, CPUServer, CPUPostgres, CPURedis).per(of(SectionShared, FourGateways, CPUServer, CPUPostgres))},
		{"statistics: CPU of gateway and Postgres, relative to the previous commit without them", "x", 1.05, most, 2,
			"server + Postgres, this tree / previous commit",
			of(SectionCollection, ThisTree, CPUServer, CPUPostgres).per(of(SectionCollection, PreviousCommit, CPUServer, CPUPostgres))},
		{"backfill of 100,000 events: live accept, p99, relative to no backfill", "x", 1.5, most, 100, "p99, beside a backfill / without",
			of(SectionBackfill, BesideBackfill, P99).per(of(SectionBackfill, WithoutBackfill, P99))},
		{"backfill of 100,000 events: live POST to the receiver's first byte, p99, relative to no backfill", "x", 2, most, 100,
			"to the receiver, p99, beside a backfill / without",
			of(SectionBackfill, BesideBackfill, ReceiverP99).per(of(SectionBackfill, WithoutBackfill, ReceiverP99))},
		{"routes diff beside live traffic: events compared, of 100,000 in a minute", "/s", 100_000.0 / 60, least, 50, "compared", of(SectionDiff, BesideDiff, Compared)},
		{"routes diff: live accept, p99, relative to no diff", "x", 1.5, most, 100, "p99, beside a diff / without",
			of(SectionDiff, BesideDiff, P99).per(of(SectionDiff, WithoutDiff, P99))},
		{"memory of a gateway: 64 connections with bodies of 1 MB", "MB", 300, most, 1000, "peak memory", of(SectionBodies, Hooklatch, MemoryPeak)},
		{"memory of a gateway: 10,000 idle connections", "MB", 200, most, 1000, "memory", of(SectionConnections, Hooklatch, Memory)},
	}
}
