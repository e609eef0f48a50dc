INSERT INTO hooklatch.effects (scope, key, generation, idempotency_key, destination, queue, policy, source, event_id, state, attempt, claim_id, lease_until, next_attempt_at)
VALUES ('route:stripe:all', 'evt_1', 1, 'hl_k', 'app', 'dst_app', 'at_least_once', 'stripe', 'evt_1', 'pending', 0, NULL, NULL, now());
