INSERT INTO hooklatch.effects (scope, key, generation, idempotency_key, destination, queue, policy, source, event_id, state, attempt, claim_id, lease_until, next_attempt_at)
VALUES ('enqueue:app', 'k', 1, 'hl_k', 'app', 'dst_app', 'at_least_once', '', '', 'pending', 0, NULL, NULL, now() - interval '6 minutes');
