INSERT INTO hooklatch.effects (scope, key, generation, idempotency_key, destination, queue, policy, source, event_id, state, attempt, claim_id, lease_until, next_attempt_at, finished_at)
VALUES ('enqueue:app', 'k', 1, 'hl_k', 'app', 'dst_app', 'at_most_once', '', '', 'failed', 1, NULL, NULL, now(), now());
