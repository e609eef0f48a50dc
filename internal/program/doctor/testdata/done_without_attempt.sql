INSERT INTO hooklatch.effects (scope, key, generation, idempotency_key, destination, queue, policy, source, event_id, state, attempt, claim_id, lease_until, next_attempt_at)
VALUES ('enqueue:app', 'k', 1, 'hl_k', 'app', 'dst_app', 'at_least_once', '', '', 'done', 1, NULL, NULL, now());
INSERT INTO hooklatch.effect_attempts (scope, key, generation, attempt, started_at, finished_at, state, applied)
VALUES ('enqueue:app', 'k', 1, 1, now(), now(), 'done', 'unknown');
INSERT INTO hooklatch.attempts (effect_id, attempt, started_at, claimed_at, finished_at, state, applied)
SELECT e.effect_id, 1, now(), now(), now(), 'done', 'unknown'
FROM hooklatch.effects AS e
WHERE e.idempotency_key = 'hl_k';
