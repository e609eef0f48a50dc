-- Creates :rows events of two sources, 50 milliseconds apart. The newest event is an hour old. Each
-- event has one effect that an operator retried. The first five events, which a walk back reaches
-- last, have a rare type, a rare state, a rare customer and a rare operator.
SET session_replication_role = replica;

CREATE TEMPORARY TABLE filled AS
SELECT
    i, 'evt_' || i AS id, CASE i % 3 WHEN 0 THEN 'github' ELSE 'stripe' END AS source,
    i <= 5 AS rare,
    md5('delivery' || i)::uuid AS delivery_id,
    now() - interval '1 hour' - (:rows - i) * interval '50 milliseconds' AS received_at
FROM generate_series(1, :rows) AS i;

INSERT INTO hooklatch.processed_events (
    source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome, processed_at
)
SELECT
    source, id, i, delivery_id, source, CASE WHEN rare THEN 'rare' ELSE 'invoice.paid' END, received_at, delivery_id, sha256(id::bytea), 'dispatch',
    CASE WHEN rare THEN 'failed' ELSE 'dispatched' END, received_at
FROM filled
ORDER BY i;
SELECT setval('hooklatch.accept_seq', :rows);

INSERT INTO hooklatch.deliveries (delivery_id, received_at, source, headers, content_type, body)
SELECT
    delivery_id, received_at, source, '{"Content-Type": ["application/json"]}', 'application/json',
    convert_to(json_build_object(
        'id', id, 'customer', CASE WHEN rare THEN 'cus_rare' ELSE 'cus_' || i % 1000 END, 'text', repeat(md5(id), 10)
    )::text, 'UTF8')
FROM filled
ORDER BY i;

INSERT INTO hooklatch.effects (
    scope, key, idempotency_key, route, destination, queue, policy, source, event_id, event_type, accept_seq, request_method, request_body,
    state, attempt, created_at, next_attempt_at, first_attempt_at, last_attempt_at, finished_at
)
SELECT
    'route:' || source || ':all', id, 'hl_' || left(encode(sha256(id::bytea), 'hex'), 40), 'all', CASE WHEN rare THEN 'crm' ELSE 'app' END, 'dst_app',
    'at_least_once', source, id, CASE WHEN rare THEN 'rare' ELSE 'invoice.paid' END, i, 'POST', NULL,
    CASE WHEN rare THEN 'parked' ELSE 'done' END, 1,
    -- The effects of one second have equal times.
    date_trunc('second', received_at), received_at, received_at, received_at, received_at
FROM filled
ORDER BY i;

INSERT INTO hooklatch.links (accept_seq, linked_at, scope, key, generation, suppressed)
SELECT i, received_at, 'route:' || source || ':all', id, 1, false
FROM filled
ORDER BY i;

INSERT INTO hooklatch.operator_log (at, who, via, action, target, affected, request_id)
SELECT received_at, CASE WHEN rare THEN 'rare' ELSE 'ada' END, 'cli', 'effect.retry', 'hl_' || left(encode(sha256(id::bytea), 'hex'), 40), 1, id
FROM filled
ORDER BY i;

DROP TABLE filled;
RESET session_replication_role;
