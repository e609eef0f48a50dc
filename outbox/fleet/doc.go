// Package fleet keeps, for workers and the program, the destinations of all processes
// together: which there are, whether attempts at them may start and how fast, and which
// processes perform them.
//
// # Pauses, breakers and rates
//
//	closed ── Trip ──▶ open ── BeginProbe, when its time has come ──▶ half_open
//	  ▲                 ▲                                             │ │
//	  │                 └───────────── ProbeFailed ───────────────────┘ │
//	  └───────────────────────────── CloseBreaker ──────────────────────┘
//
// A destination is paused while operator_paused is set or its breaker is not
// closed. That is applied to its River queue in the transaction that changes it,
// under the row lock of the destination, so neither undoes the other; SyncPauses
// repairs what River forgot. Claims refuse a paused destination too, which covers
// jobs that were fetched before and queues that several destinations share. A
// probe passes the breaker, never an operator.
//
// Rates are kept by the database for all processes together ([Fleet.TakeTokens]).
package fleet
