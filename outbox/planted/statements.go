package planted

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// exchange takes what makes a statement right out of its text.
type exchange struct {
	file   string // below the folder of statements
	honest string // stands in it exactly once
	wrong  string
}

// exchangesOf are the exchanges that make a bug.
func exchangesOf(bug Bug) []exchange {
	switch bug {
	case SelectThenInsert:
		return []exchange{
			{"accept.sql", "    FROM arriving\n", "    FROM arriving AS a\n    WHERE NOT EXISTS (SELECT FROM hooklatch.processed_events AS p WHERE p.source = a.source AND p.event_id = a.event_id)\n"},
			{"accept.sql", "DO NOTHING", "DO UPDATE SET accept_seq = EXCLUDED.accept_seq, acceptance_id = EXCLUDED.acceptance_id, delivery_id = EXCLUDED.delivery_id, received_at = EXCLUDED.received_at, payload_hash = EXCLUDED.payload_hash"},
		}
	case DedupOwnTransaction:
		// The statement runs twice: what the first time committed finds its payload the second.
		return []exchange{
			{"accept.sql", "INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)", "INSERT INTO hooklatch.deliveries (delivery_id, received_at, source, headers, content_type, body)"},
			{"accept.sql", "SELECT d.delivery_id, d.source", "SELECT DISTINCT d.delivery_id, p.received_at, d.source"},
			{"accept.sql", "    WHERE d.delivery_id IN (SELECT delivery_id FROM accepted)\n", "    JOIN hooklatch.processed_events AS p USING (delivery_id)\n    ON CONFLICT DO NOTHING\n"},
		}
	case WindowOfADuplicate: // and branches on Is
		return []exchange{{"content_guards.sql", "        AND p.acceptance_id = g.acceptance_id\n", ""}}
	case DispatchWithoutFence:
		return []exchange{
			{"fence.sql", "        AND locked.now_generation = locked.generation\n        AND locked.now_outcome = 'received'\n", ""},
		}
	case CompensatingDelete:
		return []exchange{{
			"fail_dispatch.sql",
			"UPDATE hooklatch.processed_events AS p\n    SET\n        outcome = 'failed',\n        processed_at = now(),\n        error = :error\n    FROM locked\n    WHERE ",
			"DELETE FROM hooklatch.processed_events AS p\n    USING locked\n    WHERE :error::text IS NOT NULL\n        AND ",
		}}
	case ReplayUnrecorded:
		return []exchange{{"replay_event.sql", "previous_outcome, previous_at, previous_error, :run_id\n    FROM replayed\n", "previous_outcome, previous_at, previous_error, :run_id\n    FROM replayed\n    WHERE false\n"}}
	case OldProcessDecides:
		return []exchange{{"fence.sql", "planned.configuration > 0 AND {{left_to_newer}} AS is_left", "planned.configuration < 0 AND {{left_to_newer}} AS is_left"}}
	case SettleWithoutFence:
		return []exchange{
			{"settle.sql", "        AND ended.now_attempt = ended.attempt\n        AND ended.now_claim_id = ended.claim_id\n", ""},
		}
	case LeaseIgnored:
		return []exchange{
			{"claim.sql", "AND {{lease_over}} AS lost", "AND false AS lost"},
			{"claim.sql", "e.state IN ('pending', 'in_doubt') AND e.next_attempt_at <= now() AS due", "e.state IN ('pending', 'in_doubt', 'started') AND e.next_attempt_at <= now() AS due"},
			// A trigger of the database would refuse to take a lease away.
			{"claim.sql", "lease_until = now() + make_interval(secs => judged.lease_seconds)", "lease_until = now() - make_interval(secs => judged.lease_seconds)"},
		}
	case OrderLockDropped:
		return []exchange{{"order_lock.sql", "SELECT pg_advisory_xact_lock(lock)", "SELECT lock"}}
	case ProbePassesPause:
		return []exchange{{"claim.sql", "d.operator_paused OR (d.breaker_state <> 'closed' AND NOT asked.is_probe)", "(d.operator_paused OR d.breaker_state <> 'closed') AND NOT asked.is_probe"}}
	case AckBeforeCommit, JobOutsideTransaction, BodyHashAsKey, CommitOnRequestContext, SafeToRetryBelieved, SynchronousCommitOff,
		NewKeyOnRetry, DoneBeforeWork, ExternalCallBeforeCommit, CacheFilledBeforeCommit, RetentionBelowWindow:
	}
	return nil // a branch on Is
}

// exchanged are files of statements with some of them exchanged.
type exchanged struct {
	fs.FS

	exchanges []exchange
}

// ReadFile implements fs.ReadFileFS. An exchange that does not fit the statement any
// more is an error: the bug would not be there.
func (e exchanged) ReadFile(name string) ([]byte, error) {
	read, err := fs.ReadFile(e.FS, name)
	if err != nil {
		return nil, err
	}
	text := string(read)
	for _, x := range e.exchanges {
		if path.Base(name) != x.file {
			continue
		}
		if n := strings.Count(text, x.honest); n != 1 {
			return nil, fmt.Errorf("planted bug: %q stands %d times in %s, not once", x.honest, n, name)
		}
		text = strings.Replace(text, x.honest, x.wrong, 1)
	}
	return []byte(text), nil
}
