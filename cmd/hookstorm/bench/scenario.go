package bench

import "context"

// Scenario is something to measure.
type Scenario struct {
	Name string
	// What it is, for people.
	What string
	// Turns: each round has one, so that what is compared meets the same drift of
	// the machine. The others compare within themselves, and run when they are named.
	Turns bool

	run func(ctx context.Context, b *bench) error
}

// Scenarios are all there are, in the order in which they run. The two that accept is
// compared with stand next to it: the speed of a machine changes between minutes.
func Scenarios() []Scenario {
	return []Scenario{
		{"naive", "one transaction for each event: dedup row with payload, River job; with River's GIN indexes and without", true, naiveTurn},
		{"limit", "the same Echo server verifies and answers, without a database", true, limitTurn},
		{"accept", "Hooklatch accepts", true, acceptTurn},
		{"life", "Hooklatch accepts, dispatches and has one HTTP effect done", true, lifeTurn},
		{"backlog", "events made while the receiver was down are drained", true, backlogTurn},
		{"idle", "single events of an idle system, and what it does without any", true, idleTurn},
		{"duplicates", "Hooklatch accepts events of which 0, 50 and 100 % came before", false, duplicatesTurn},
		{"gateways", "1, 2 and 4 gateways accept into one Postgres", false, gatewaysTurn},
		{"pools", "naive with pools of 8 to 64 connections", false, poolsTurn},
		{"connections", "memory of a gateway with 10,000 connections that bring nothing", false, connectionsTurn},
		{"bodies", "memory of a gateway that takes bodies of 1 MB over 64 connections", false, bodiesTurn},
		{"cold", "whole lives on tables that were never analysed, autovacuum off, beside an analysed copy", false, coldTurn},
		{"growth", "Hooklatch accepts beside 10,000,000 dedup rows, of random and of time-ordered ids", false, growthTurn},
		{"years", "WAL of lives right after a checkpoint, 10,000,000 events and effects behind them, beside --previous", false, yearsTurn},
		{"order", "deliveries of an order with 10 and with 50,000 effects waiting in it", false, orderTurn},
		{"waiting", "whole lives beside 1,000,000 effects of a paused destination and 2,000,000 finished ones; then it is resumed", false, waitingTurn},
		{"standby", "4 gateways accept while every commit waits for a standby that is 5 ms away", false, standbyTurn},
		{"profile", "where Postgres' time goes in a whole life; needs pg_stat_statements", false, profileTurn},
		{"upkeep", "whole lives while upkeep runs twice a second, beside lives without", false, upkeepTurn},
	}
}

// ScenarioNames are those of all scenarios.
func ScenarioNames() []string {
	var names []string
	for _, s := range Scenarios() {
		names = append(names, s.Name)
	}
	return names
}
