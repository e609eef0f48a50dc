package bench

import "context"

// Scenario is one measurement.
type Scenario struct {
	Name string
	// What describes the scenario in the help and in progress messages.
	What string
	// Turns is true if the scenario takes a turn in each round, so that the machine's drift affects
	// all compared scenarios alike. The other scenarios compare only their own subjects, and run
	// only if they are selected.
	Turns bool

	// takes lists the subjects of a scenario that only accepts events. All such scenarios share
	// one turn.
	takes []subject
	run   func(ctx context.Context, b *bench) error // nil if takes is set
}

// Scenarios returns all scenarios, in the order in which they run.
func Scenarios() []Scenario {
	return []Scenario{
		{"limit", "the same Echo server verifies and answers, without a database", true, []subject{limit}, nil},
		{"naive", "one transaction for each event: dedup row with payload, River job; with River's GIN indexes and without", true, []subject{naive, naiveWithoutGIN}, nil},
		{"accept", "Hooklatch accepts", true, []subject{accepting}, nil},
		{"life", "Hooklatch accepts, dispatches and performs one HTTP effect; in turn with --previous, if given", true, nil, lifeTurn},
		{"backlog", "events accepted while the receiver was down are drained", true, nil, backlogTurn},
		{"idle", "single events on an idle system, and its work without any", true, nil, idleTurn},
		{"peers", "Hooklatch in turn with a tuned River program: accept, full lifecycles, the drain of a backlog, single events", false, nil, peersTurn},
		{"duplicates", "Hooklatch accepts events with 0, 50 and 100 % duplicates", false, nil, duplicatesTurn},
		{"shared", "4 gateways accept duplicates of what another of them has accepted, with a shared memory in Redis and without", false, nil, sharedTurn},
		{"gateways", "1, 2 and 4 gateways accept into one Postgres", false, nil, gatewaysTurn},
		{"connections", "memory of a gateway with 10,000 idle connections", false, nil, connectionsTurn},
		{"bodies", "memory of a gateway that accepts bodies of 1 MB over 64 connections", false, nil, bodiesTurn},
		{"collection", "Hooklatch accepts with statistics, in turn with --previous, a commit without statistics", false, nil, collectionTurn},
		{"cold", "full lifecycles on tables that were never analysed, autovacuum off, beside an analysed copy", false, nil, coldTurn},
		{"growth", "Hooklatch accepts beside 10,000,000 dedup rows, with random and with time-ordered ids", false, nil, growthTurn},
		{"years", "WAL of lifecycles right after a checkpoint, with 10,000,000 earlier events and effects, beside --previous", false, nil, yearsTurn},
		{"order", "deliveries from an order with 10 and with 50,000 waiting effects", false, nil, orderTurn},
		{"waiting", "full lifecycles beside 1,000,000 effects of a paused destination and 2,000,000 finished ones; then the destination is resumed", false, nil, waitingTurn},
		{"standby", "4 gateways accept while every commit waits for a standby that is 5 ms away", false, nil, standbyTurn},
		{"profile", "Postgres' time by statement in a full lifecycle and in a drain; needs pg_stat_statements", false, nil, profileTurn},
		{"upkeep", "full lifecycles while upkeep runs twice a second, and without upkeep", false, nil, upkeepTurn},
		{"backfill", "single lifecycles at a steady rate, with and without a backfill of 100,000 events", false, nil, backfillTurn},
		{"diff", "single lifecycles at a steady rate, with and without a diff of routes over 100,000 events", false, nil, diffTurn},
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
