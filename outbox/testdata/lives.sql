-- Creates completed lifecycles of events with random ids, over the last 90 days.
SET session_replication_role = replica;
WITH ids AS MATERIALIZED (
    SELECT
        gen_random_uuid()::text AS id,
        nextval('hooklatch.accept_seq') AS accept_seq,
        nextval('hooklatch.effect_id') AS effect_id
    FROM generate_series(1, %d)
), events AS (
    INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, outcome)
    SELECT 'stripe', id, accept_seq, gen_random_uuid(), 'stripe', 'invoice.paid', gen_random_uuid(), sha256(id::bytea), 'dispatch', 'dispatched'
    FROM ids
), made AS (
    INSERT INTO hooklatch.effects (
        effect_id, scope, key, generation, idempotency_key, route, destination, queue, policy, source, event_id, accept_seq, request_body,
        state, attempt, last_attempt_at, finished_at, created_at
    )
    SELECT
        effect_id, 'route:stripe:everything', id, 1, hooklatch.idempotency_key('route:stripe:everything', id, 1), 'everything', 'app', 'dst_app', 'at_least_once',
        'stripe', id, accept_seq, '{}', 'done', 1, now(), now(), now() - random() * interval '90 days'
    FROM ids
), linked AS (
    INSERT INTO hooklatch.links (accept_seq, scope, key, generation, suppressed)
    SELECT accept_seq, 'route:stripe:everything', id, 1, false
    FROM ids
)
INSERT INTO hooklatch.attempts (effect_id, attempt, started_at, claimed_at, finished_at, state, applied)
SELECT effect_id, 1, now(), now(), now(), 'done', 'yes'
FROM ids;
RESET session_replication_role;
