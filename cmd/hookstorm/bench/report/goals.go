package report

import (
	"fmt"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/bench/load"
)

// Goal is a number that we want to reach.
type Goal struct {
	Name string
	Unit string
	// Want is the number, a least one with AtLeast and a most one otherwise.
	Want    float64
	AtLeast bool
	// Loose is what must hold even in a quick run on a busy machine; 0 for nothing.
	Loose float64
	// From says which measurements it is made of.
	From string

	of func(r *Report) []float64 // one of each round; nil when it was not measured
}

// Goals are all of them, in the order of the report.
func Goals() []Goal {
	return []Goal{
		{
			Name: "accept: CPU of gateway and Postgres, of naive's",
			Unit: "x", Want: 0.36, Loose: 1.5, From: "server + Postgres, Hooklatch / faster naive",
			of: func(r *Report) []float64 {
				return ratio(r.sum(SectionAccept, Hooklatch, CPUServer, CPUPostgres), r.sum(SectionAccept, r.fasterNaive(), CPUServer, CPUPostgres))
			},
		},
		{
			Name: "accept: rate, of naive's", Unit: "x", Want: 2.2, AtLeast: true, Loose: 0.5, From: "rate, Hooklatch / faster naive",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionAccept, Hooklatch, Rate), r.values(SectionAccept, r.fasterNaive(), Rate))
			},
		},
		{
			Name: "accept: rate, of the limit's", Unit: "x", Want: 0.28, AtLeast: true, Loose: 0.03, From: "rate, Hooklatch / limit",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionAccept, Hooklatch, Rate), r.values(SectionAccept, Limit, Rate))
			},
		},
		{
			Name: "accept: WAL beside the payload", Unit: "B", Want: 1500, Loose: 4000, From: "WAL without page images, less the body",
			of: func(r *Report) []float64 {
				return minus(r.values(SectionAccept, Hooklatch, WALWithoutImages), load.DefaultSize)
			},
		},
		{
			Name: "accept: median latency of 1 connection, of naive's",
			Unit: "x", Want: 1.15, Loose: 4, From: "p50, Hooklatch / faster naive",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionSingle, Hooklatch, P50), r.values(SectionSingle, r.fasterNaive(), P50))
			},
		},
		{
			Name: "whole life: rate, of naive's accept",
			Unit: "x", Want: 0.6, AtLeast: true, Loose: 0.03, From: "rate, life / faster naive",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionLife, WholeLife, Rate), r.values(SectionAccept, r.fasterNaive(), Rate))
			},
		},
		{
			Name: "whole life: CPU of Postgres, of naive's", Unit: "x", Want: 2.0, Loose: 20, From: "Postgres, life / faster naive",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionLife, WholeLife, CPUPostgres), r.values(SectionAccept, r.fasterNaive(), CPUPostgres))
			},
		},
		{
			Name: "whole life: CPU of gateway and worker, of naive's server",
			Unit: "x", Want: 2.2, Loose: 20, From: "gateway + worker / server of the faster naive",
			of: func(r *Report) []float64 {
				return ratio(r.sum(SectionLife, WholeLife, CPUServer, CPUWorker), r.values(SectionAccept, r.fasterNaive(), CPUServer))
			},
		},
		{
			Name: "whole life: WAL beside the payload", Unit: "B", Want: 6000, Loose: 40_000, From: "WAL, less the body",
			of: func(r *Report) []float64 { return minus(r.values(SectionLife, WholeLife, WAL), load.DefaultSize) },
		},
		{
			Name: "backlog: rate of the middle 80 %, of naive's accept",
			Unit: "x", Want: 1.0, AtLeast: true, Loose: 0.02, From: "rate, backlog / faster naive",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionBacklog, WholeLife, Rate), r.values(SectionAccept, r.fasterNaive(), Rate))
			},
		},
		{
			Name: "backlog: first delivery after the receiver is back", Unit: "s", Want: 2, Loose: 20, From: "first delivery",
			of: func(r *Report) []float64 { return r.values(SectionBacklog, WholeLife, FirstDelivery) },
		},
		{
			Name: "idle: POST to the receiver's first byte, median", Unit: "ms", Want: 6, Loose: 500, From: "p50",
			of: func(r *Report) []float64 { return r.values(SectionIdle, WholeLife, P50) },
		},
		{
			Name: "idle: POST to the receiver's first byte, 99 %", Unit: "ms", Want: 20, Loose: 2000, From: "p99",
			of: func(r *Report) []float64 { return r.values(SectionIdle, WholeLife, P99) },
		},
		{
			Name: "idle: transactions without events", Unit: "/s", Want: 8, Loose: 100, From: "transactions, gateway and worker",
			of: func(r *Report) []float64 { return r.values(SectionIdle, WholeLife, Transactions) },
		},
		{
			Name: "1,000,000 effects waiting: rate of another destination's life, of that on empty tables",
			Unit: "x", Want: 0.9, AtLeast: true, Loose: 0.1, From: "rate, beside what waits / on empty tables",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionWaiting, BesideWaiting, Rate), r.values(SectionWaiting, Empty, Rate))
			},
		},
		{
			Name: "1,000,000 effects waiting: that rate right after a checkpoint, of that on empty tables",
			Unit: "x", Want: 0.9, AtLeast: true, Loose: 0.1, From: "rate after a checkpoint, beside what waits / on empty tables",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionWaiting, BesideWaitingAtFirst, Rate), r.values(SectionWaiting, EmptyAtFirst, Rate))
			},
		},
		{
			Name: "1,000,000 effects waiting: first delivery after the destination is resumed",
			Unit: "s", Want: 2, Loose: 30, From: "first delivery",
			of: func(r *Report) []float64 { return r.values(SectionResumed, WholeLife, FirstDelivery) },
		},
		{
			Name: "1,000,000 effects waiting: rate of the drain at its beginning, of that at its end",
			Unit: "x", Want: 0.9, AtLeast: true, Loose: 0.1, From: "rate at the beginning / at the end",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionResumed, WholeLife, RateBeginning), r.values(SectionResumed, WholeLife, RateEnd))
			},
		},
		{
			Name: "1,000,000 effects waiting: reconcile", Unit: "s", Want: 5, Loose: 30, From: "the longest run of reconcile",
			of: func(r *Report) []float64 { return r.values(SectionResumed, WholeLife, ReconcileTime) },
		},
		{
			Name: "1,000,000 effects waiting: temporary files", Unit: "", Want: 0, From: "temporary files of the database",
			of: func(r *Report) []float64 { return r.values(SectionResumed, WholeLife, TemporaryFiles) },
		},
		{
			Name: "order: from head to head with 50,000 waiting, of 10",
			Unit: "x", Want: 1.5, Loose: 20, From: "from one delivery to the next, 50,000 / 10",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionOrder, ManyWaiting, BetweenHeads), r.values(SectionOrder, FewWaiting, BetweenHeads))
			},
		},
		{
			Name: "never analysed: rate of a whole life, of the analysed copy's",
			Unit: "x", Want: 0.9, AtLeast: true, Loose: 0.1, From: "rate, never analysed / analysed",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionCold, NeverAnalysed, Rate), r.values(SectionCold, Analysed, Rate))
			},
		},
		{
			Name: "10 M dedup rows of random ids: rate of accept, of the empty table's",
			Unit: "x", Want: 0.85, AtLeast: true, Loose: 0.2, From: "rate, random ids / empty",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionGrowth, GrownRandom, Rate), r.values(SectionGrowth, Empty, Rate))
			},
		},
		{
			Name: "10 M dedup rows of random ids: that rate right after a checkpoint, of the empty table's",
			Unit: "x", Want: 0.85, AtLeast: true, Loose: 0.2, From: "rate after a checkpoint, random ids / empty",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionGrowth, GrownRandomAtFirst, Rate), r.values(SectionGrowth, EmptyAtFirst, Rate))
			},
		},
		{
			Name: "10 M events and effects: WAL of a life after a checkpoint, of the previous commit's",
			Unit: "x", Want: 0.5, Loose: 2, From: "WAL, this tree / previous commit",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionYears, ThisTree, WAL), r.values(SectionYears, PreviousCommit, WAL))
			},
		},
		{
			Name: "standby 5 ms away, 4 gateways: commits at once, of one after the other",
			Unit: "x", Want: 3, AtLeast: true, Loose: 1, From: "commits at once",
			of: func(r *Report) []float64 { return r.values(SectionStandby, FourGateways, CommitsAtOnce) },
		},
		{
			Name: "all events came before: CPU of gateway and Postgres, of the limit's",
			Unit: "x", Want: 1.4, Loose: 6, From: "server + Postgres, 100 % came before / limit",
			of: func(r *Report) []float64 {
				known := r.sum(SectionDuplicates, fmt.Sprintf(CameBefore, 100.0), CPUServer, CPUPostgres)
				return ratio(known, r.values(SectionDuplicates, Limit, CPUServer))
			},
		},
		{
			Name: "statistics: CPU of gateway and Postgres, of the previous commit's without them",
			Unit: "x", Want: 1.05, Loose: 2, From: "server + Postgres, this tree / previous commit",
			of: func(r *Report) []float64 {
				return ratio(r.sum(SectionCollection, ThisTree, CPUServer, CPUPostgres), r.sum(SectionCollection, PreviousCommit, CPUServer, CPUPostgres))
			},
		},
		{
			Name: "twenty open overviews: CPU of gateway and Postgres, of that without",
			Unit: "x", Want: 1.05, Loose: 2, From: "server + Postgres, twenty overviews are open / nobody looks",
			of: func(r *Report) []float64 {
				return ratio(r.sum(SectionWatched, Watched, CPUServer, CPUPostgres), r.sum(SectionWatched, Unwatched, CPUServer, CPUPostgres))
			},
		},
		{
			Name: "backfill of 100,000 events: live accept, 99 %, of that without",
			Unit: "x", Want: 1.5, Loose: 100, From: "p99, beside a backfill / without",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionBackfill, BesideBackfill, P99), r.values(SectionBackfill, WithoutBackfill, P99))
			},
		},
		{
			Name: "backfill of 100,000 events: live POST to the receiver's first byte, 99 %, of that without",
			Unit: "x", Want: 2, Loose: 100, From: "to the receiver, p99, beside a backfill / without",
			of: func(r *Report) []float64 {
				return ratio(r.values(SectionBackfill, BesideBackfill, ReceiverP99), r.values(SectionBackfill, WithoutBackfill, ReceiverP99))
			},
		},
		{
			Name: "memory of a gateway: 64 connections with bodies of 1 MB", Unit: "MB", Want: 300, Loose: 1000, From: "memory at most",
			of: func(r *Report) []float64 { return r.values(SectionBodies, Hooklatch, MemoryPeak) },
		},
		{
			Name: "memory of a gateway: 10,000 connections that bring nothing", Unit: "MB", Want: 200, Loose: 1000, From: "memory",
			of: func(r *Report) []float64 { return r.values(SectionConnections, Hooklatch, Memory) },
		},
	}
}
