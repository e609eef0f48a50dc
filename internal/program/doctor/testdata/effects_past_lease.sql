INSERT INTO hooklatch.effects (scope, key, generation, idempotency_key, destination, queue, policy, source, event_id, state, attempt, claim_id, lease_until, next_attempt_at)
VALUES ('enqueue:app', 'k', 1, 'hl_k', 'app', 'dst_app', 'at_least_once', '', '', 'started', 1, gen_random_uuid(), now() - interval '11 minutes', now());
