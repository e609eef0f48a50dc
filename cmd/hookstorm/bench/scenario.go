package bench

import "context"

// Scenario is something to measure.
type Scenario struct {
	Name string
	// What describes the scenario.
	What string
	// Turns is true if the scenario has a turn in each round, so that compared scenarios meet
	// the same drift of the machine. The others compare within themselves, and run only if
	// named.
	Turns bool

	// takes are subjects that only take events, all in one turn.
	takes []subject
	run   func(ctx context.Context, b *bench) error // nil if takes is set
}

// Scenarios returns all scenarios, in the order in which they run.
func Scenarios() []Scenario {
	return []Scenario{
		{"limit", "the same Echo server verifies and answers, without a database", true, []subject{limit}, nil},
		{"naive", "one transaction for each event: dedup row with payload, River job; with River's GIN indexes and without", true, []subject{naive, naiveWithoutGIN}, nil},
		{"accept", "Hooklatch accepts", true, []subject{accepting}, nil},
		{"life", "Hooklatch accepts, dispatches and has one HTTP effect done; in turn with --previous, if given", true, nil, lifeTurn},
		{"backlog", "events made while the receiver was down are drained", true, nil, backlogTurn},
		{"idle", "single events of an idle system, and what it does without any", true, nil, idleTurn},
		{"duplicates", "Hooklatch accepts events of which 0, 50 and 100 % are duplicates", false, nil, duplicatesTurn},
		{"gateways", "1, 2 and 4 gateways accept into one Postgres", false, nil, gatewaysTurn},
		{"connections", "memory of a gateway with 10,000 connections that bring nothing", false, nil, connectionsTurn},
		{"bodies", "memory of a gateway that takes bodies of 1 MB over 64 connections", false, nil, bodiesTurn},
		{"collection", "Hooklatch accepts, in turn with --previous: one that counts by the minute and reads what waits, and one of before", false, nil, collectionTurn},
		{"cold", "whole lives on tables that were never analysed, autovacuum off, beside an analysed copy", false, nil, coldTurn},
		{"growth", "Hooklatch accepts beside 10,000,000 dedup rows, of random and of time-ordered ids", false, nil, growthTurn},
		{"years", "WAL of lives right after a checkpoint, 10,000,000 events and effects behind them, beside --previous", false, nil, yearsTurn},
		{"order", "deliveries of an order with 10 and with 50,000 effects waiting in it", false, nil, orderTurn},
		{"waiting", "whole lives beside 1,000,000 effects of a paused destination and 2,000,000 finished ones; then it is resumed", false, nil, waitingTurn},
		{"standby", "4 gateways accept while every commit waits for a standby that is 5 ms away", false, nil, standbyTurn},
		{"profile", "where Postgres' time goes in a whole life; needs pg_stat_statements", false, nil, profileTurn},
		{"upkeep", "whole lives while upkeep runs twice a second, beside lives without", false, nil, upkeepTurn},
		{"backfill", "single lives at a steady rate, in turn with the same beside a backfill of 100,000 events", false, nil, backfillTurn},
	}
}

// ScenarioNames returns the names of all scenarios.
func ScenarioNames() []string {
	var names []string
	for _, s := range Scenarios() {
		names = append(names, s.Name)
	}
	return names
}
