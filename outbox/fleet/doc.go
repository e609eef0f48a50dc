// Package fleet manages the destinations of all processes together, for workers and the program:
// their registration, pauses and rates, and the processes that serve them.
//
// # Pauses, breakers and rates
//
//	closed ── Trip ──▶ open ── BeginProbe, when the probe is due ───▶ half_open
//	  ▲                 ▲                                             │ │
//	  │                 └───────────── ProbeFailed ───────────────────┘ │
//	  └───────────────────────────── CloseBreaker ──────────────────────┘
//
// A destination is paused while operator_paused is set or its breaker is not closed. The
// transaction that changes the flag or the breaker also applies the pause to the River queue, under
// the destination's row lock, so that concurrent changes do not undo each other. SyncPauses
// restores pauses that River has lost. Claims refuse a paused destination too. This covers jobs
// fetched earlier and queues shared by several destinations. A probe passes the breaker, but never
// an operator's pause.
//
// The database enforces rates for all processes together ([Fleet.TakeTokens]).
package fleet
