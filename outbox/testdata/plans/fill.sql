-- Creates the events :first to :last of the source stripe with their results, which depend on turn.
-- Triggers are off: they would take most of the time.
SET session_replication_role = replica;

INSERT INTO hooklatch.destinations (name, kind, queue, config_hash)
SELECT 'app' || n, 'http', 'dst_app' || n, ''
FROM (SELECT '' AS n UNION ALL SELECT i::text FROM generate_series(1, 20) AS i) AS destination
ON CONFLICT DO NOTHING;

INSERT INTO hooklatch.retention_progress (what, source, horizon)
VALUES ('events', 'stripe', now()), ('payloads', '', now()), ('effects', '', now()), ('imports', '', now())
ON CONFLICT DO NOTHING;

CREATE TEMPORARY TABLE filled AS
SELECT
    i, 'evt_' || i AS id, i % 8 AS turn, md5('delivery' || i)::uuid AS delivery_id,
    -- The events are a microsecond apart. The first is one hour old, or of midnight UTC if that was
    -- less than an hour ago, so that all are of one day. It is at least two minutes old.
    LEAST(now() - interval '2 minutes', GREATEST(now() - interval '1 hour', date_trunc('day', now(), 'UTC'))) + i * interval '1 microsecond' AS received_at,
    -- Events with an ordered effect precede all others. Their effects therefore never wait for an
    -- event that is undispatched, or that a replay or release makes undispatched.
    i + CASE WHEN i % 8 = 4 THEN 0 ELSE 1000000000 END AS accept_seq
FROM generate_series(:first, :last) AS i;

INSERT INTO hooklatch.processed_events (
    source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome, processed_at
)
SELECT
    'stripe', id, accept_seq, delivery_id, 'stripe', 'invoice.paid', received_at, delivery_id, '\x00', 'dispatch',
    CASE WHEN turn IN (0, 6) THEN 'received' WHEN turn = 5 THEN 'held' ELSE 'dispatched' END, CASE WHEN turn NOT IN (0, 5, 6) THEN now() END
FROM filled;

INSERT INTO hooklatch.content_guards (source, hash, event_id, acceptance_id, accepted_at, expires_at)
SELECT 'stripe', sha256(id::bytea), id, delivery_id, received_at, received_at + interval '1 day'
FROM filled;

INSERT INTO hooklatch.deliveries (delivery_id, received_at, source, headers, content_type, body)
SELECT delivery_id, received_at, 'stripe', '{}', 'application/json', '{}'
FROM filled;

INSERT INTO hooklatch.search_values (value, source, accept_seq, received_at)
SELECT v.value, 'stripe', filled.accept_seq, filled.received_at
FROM filled
CROSS JOIN LATERAL (VALUES ('common'), (filled.id)) AS v (value)
WHERE turn NOT IN (0, 5, 6);

INSERT INTO hooklatch.effects (
    scope, key, idempotency_key, route, destination, queue, policy, source, event_id, event_type, accept_seq, request_method, request_body,
    state, attempt, created_at, next_attempt_at, first_attempt_at, last_attempt_at, finished_at, order_key, request_rendering
)
SELECT
    'route:stripe:everything', id, hooklatch.idempotency_key('route:stripe:everything', id, 1), 'everything', 'app', 'dst_app',
    CASE turn WHEN 4 THEN 'at_most_once' ELSE 'at_least_once' END,
    'stripe', id, 'invoice.paid', accept_seq, 'POST', '{}',
    CASE turn WHEN 2 THEN 'done' WHEN 3 THEN 'failed' ELSE 'pending' END, CASE WHEN turn IN (2, 3) THEN 1 ELSE 0 END, received_at, received_at,
    CASE WHEN turn IN (2, 3) THEN received_at END, CASE WHEN turn IN (2, 3) THEN received_at END, CASE WHEN turn IN (2, 3) THEN received_at END,
    CASE turn WHEN 4 THEN 'order_' || (i - 1) / 32 % 16 ELSE '' END, CASE turn WHEN 7 THEN 'late' ELSE 'done' END
FROM filled
WHERE turn NOT IN (0, 5, 6);

INSERT INTO hooklatch.links (accept_seq, scope, key, generation, suppressed)
SELECT accept_seq, 'route:stripe:everything', id, 1, false
FROM filled
WHERE turn NOT IN (0, 5, 6);

INSERT INTO hooklatch.attempts (effect_id, attempt, started_at, claimed_at, finished_at, state, applied)
SELECT
    e.effect_id, 1, filled.received_at, filled.received_at, filled.received_at,
    CASE turn WHEN 2 THEN 'done' ELSE 'failed' END, CASE turn WHEN 2 THEN 'yes' ELSE 'no' END
FROM filled
JOIN hooklatch.effects AS e ON e.key = filled.id
WHERE turn IN (2, 3);

-- One in a hundred of the events with turn 6 lacks its job. In an order, only the first effect has
-- a job.
INSERT INTO hooklatch.river_job (kind, args, max_attempts, queue, state)
SELECT 'dispatch', jsonb_build_object('source', 'stripe', 'event_id', id), 25, 'dispatch', 'available'
FROM filled
WHERE turn = 0 OR turn = 6 AND i % 800 <> 6;
INSERT INTO hooklatch.river_job (kind, args, max_attempts, queue, state)
SELECT 'effect', jsonb_build_object('scope', 'route:stripe:everything', 'key', id, 'generation', 1, 'destination', 'app'), 25, 'dst_app', 'available'
FROM filled
WHERE turn IN (1, 7) OR turn = 4 AND i % 32 = 4 AND i <= 16 * 32;

-- An operator has replayed each event once.
INSERT INTO hooklatch.operator_log (at, who, via, action, target, affected, request_id)
SELECT received_at, 'ann', 'cli', 'event.replay', 'stripe/' || id, 1, id
FROM filled;

DROP TABLE filled;
-- Events accepted later get higher positions.
SELECT setval('hooklatch.accept_seq', 2000000000);
RESET session_replication_role;
