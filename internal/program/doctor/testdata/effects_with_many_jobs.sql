INSERT INTO hooklatch.effects (scope, key, generation, idempotency_key, destination, queue, policy, source, event_id, state, attempt, claim_id, lease_until, next_attempt_at)
VALUES ('enqueue:app', 'k', 1, 'hl_k', 'app', 'dst_app', 'at_least_once', '', '', 'pending', 0, NULL, NULL, now());
INSERT INTO hooklatch.river_job (kind, args, max_attempts, queue, state)
SELECT 'effect', '{"scope": "enqueue:app", "key": "k", "generation": 1, "destination": "app"}', 25, 'dst_app', 'available'
FROM generate_series(1, 2);
