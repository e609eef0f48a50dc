-- Creates waiting work of each kind. The tests contain the expected counts. Rows that a running
-- system already has stay unchanged.
SET session_replication_role = replica;

INSERT INTO hooklatch.destinations (name, kind, queue, config_hash, operator_paused, paused_by, pause_reason, paused_at)
VALUES ('app', 'http', 'dst_app', '', true, 'ann', 'they migrate', now() - interval '10 minutes')
ON CONFLICT DO NOTHING;
INSERT INTO hooklatch.destinations (name, kind, queue, config_hash, breaker_state, breaker_reason, opened_at, probe_at)
VALUES
    ('crm', 'http', 'dst_crm', '', 'open', '10 attempts in a row failed', now() - interval '2 hours', now() + interval '1 minute'),
    ('mail', 'email', 'dst_mail', '', 'closed', '', NULL, NULL)
ON CONFLICT DO NOTHING;

-- For crm: 300 effects in no order, of which 100 are not due yet, one effect whose worker was lost,
-- and one that is being attempted.
INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, attempt, claim_id, next_attempt_at, lease_until, order_key, accept_seq)
SELECT 's', 'crm' || i, 'hl_crm' || i, 'crm', 'dst_crm', 'at_least_once', 'pending', 0, NULL::uuid, now() + (i - 200.5) * interval '1 second', NULL::timestamptz, '', NULL::bigint
FROM generate_series(1, 300) AS i
UNION ALL
SELECT 's', 'lost', 'hl_lost', 'crm', 'dst_crm', 'at_least_once', 'started', 1, gen_random_uuid(), now() - interval '1 hour', now() - interval '1 minute', '', NULL
UNION ALL
SELECT 's', 'at_work', 'hl_at_work', 'crm', 'dst_crm', 'at_least_once', 'started', 1, gen_random_uuid(), now() - interval '2 hours', now() + interval '1 minute', '', NULL
UNION ALL
-- For mail: three orders. The first effect of a is retried in an hour, that of b is due, and that
-- of c is being attempted.
SELECT 's', o || i, 'hl_' || o || i, 'mail', 'dst_mail', 'at_least_once', CASE WHEN o = 'c' AND i = 1 THEN 'started' ELSE 'pending' END, 1, CASE WHEN o = 'c' AND i = 1 THEN gen_random_uuid() END,
    CASE WHEN o = 'a' AND i = 1 THEN now() + interval '1 hour' ELSE now() - interval '3 hours' + CASE WHEN o = 'b' THEN interval '1 hour' ELSE interval '0' END END,
    now() + interval '1 minute', o, i
FROM unnest(ARRAY['a', 'b', 'c']) AS o
CROSS JOIN generate_series(1, 5) AS i
ON CONFLICT DO NOTHING;

INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, attempt, finished_at)
SELECT 's', 'done' || i, 'hl_done' || i, 'crm', 'dst_crm', 'at_least_once', CASE WHEN i <= 50 THEN 'done' WHEN i <= 57 THEN 'failed' ELSE 'parked' END, 1,
    now() - i * interval '1 minute'
FROM generate_series(1, 60) AS i
ON CONFLICT DO NOTHING;

INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, received_at, outcome)
SELECT s.name, i::text, i, gen_random_uuid(), 'stripe', 't', gen_random_uuid(), '', 'dispatch', now() - interval '1 hour' + (i + 29) * interval '1 second',
    CASE WHEN i <= 20 THEN 'received' WHEN i <= 22 THEN 'failed' WHEN i <= 25 THEN 'held' ELSE 'dispatched' END
FROM unnest(ARRAY['github', 'stripe']) AS s (name)
CROSS JOIN generate_series(1, 40) AS i
ON CONFLICT DO NOTHING;

INSERT INTO hooklatch.rejected_deliveries (rejection_id, source, rejected_at, reason, known, method, host, secure, target, headers, body, bytes)
SELECT gen_random_uuid(), 'stripe', now() - i * interval '1 minute', 'bad_signature', i <= 1, 'POST', 'h', true, '/', '{}', '', 100
FROM generate_series(0, 2) AS i
ON CONFLICT DO NOTHING;

INSERT INTO hooklatch.retention_progress (what, source, horizon, day_rows, stopped_since)
VALUES ('events', 'stripe', now(), 17, now() - interval '1 day'), ('attempts', '', now(), 4, NULL)
ON CONFLICT DO NOTHING;

INSERT INTO hooklatch.sizes (day, table_name, rows, bytes)
VALUES (current_date - 1, 'effects', 370, 8000), (current_date, 'effects', 377, 8192)
ON CONFLICT DO NOTHING;

INSERT INTO hooklatch.processes (name, kind, version, config_hash, settings, seen_at)
VALUES ('a', 'gateway', '1', 'x', '{}', now()), ('b', 'worker', '1', 'y', '{}', now()), ('c', 'worker', '1', 'y', '{}', now() - interval '3 minutes')
ON CONFLICT DO NOTHING;

INSERT INTO hooklatch.river_leader (elected_at, expires_at, leader_id)
VALUES (now(), now() + interval '10 minutes', 'b')
ON CONFLICT DO NOTHING;

INSERT INTO hooklatch.last_seen (kind, name, what, seen_at)
VALUES
    ('source', 'stripe', 'accepted', now() - interval '30 seconds'),
    ('source', 'github', 'accepted', now() - interval '3 hours'),
    ('source', 'github', 'duplicate', now()),
    ('destination', 'app', 'done', now())
ON CONFLICT DO NOTHING;

-- The counts cover the same hour of each of the last five days. Except yesterday, stripe had 100
-- deliveries with 2 % duplicates. github had events on two of these days. Except yesterday, the
-- next hour has counts too: at the half hour, a reader begins to compare with that hour.
INSERT INTO hooklatch.hours (hour, kind, name, what, n)
SELECT date_trunc('hour', now() - interval '30 minutes', 'UTC') - d * interval '1 day' + h * interval '1 hour', 'source', counted.name, counted.what, counted.n
FROM generate_series(1, 5) AS d
CROSS JOIN generate_series(0, 1) AS h
CROSS JOIN LATERAL (
    VALUES
        ('stripe', 'accepted', CASE WHEN d = 1 THEN 900 ELSE 98 END), ('stripe', 'duplicate', CASE WHEN d = 1 THEN 900 ELSE 2 END),
        ('github', 'accepted', CASE WHEN d <= 2 THEN 40 END)
) AS counted (name, what, n)
WHERE counted.n IS NOT NULL AND (h = 0 OR d > 1)
ON CONFLICT DO NOTHING;
INSERT INTO hooklatch.minutes (minute, kind, name, what, n)
VALUES
    (date_trunc('minute', now()) - interval '5 minutes', 'source', 'stripe', 'accepted', 60),
    (date_trunc('minute', now()) - interval '50 minutes', 'source', 'stripe', 'duplicate', 20),
    (date_trunc('minute', now()) - interval '70 minutes', 'source', 'stripe', 'duplicate', 5000),
    (date_trunc('minute', now()) - interval '5 minutes', 'source', 'github', 'duplicate', 3)
ON CONFLICT DO NOTHING;

RESET session_replication_role;

INSERT INTO hooklatch.coverage (source, stream, covered_until, lists_secs, failures, error, endpoint, endpoint_why, endpoint_at) VALUES
    ('github', 'one', now() - interval '1 hour', 259200, 2, 'answered 500', 'on', '', now()),
    ('github', 'two', now() - interval '2 hours', 259200, 0, '', 'off', 'active: false', now() - interval '3 hours'),
    ('okta', '', now(), 0, 0, '', '', '', NULL);

INSERT INTO hooklatch.backfill_runs (source, stream, since, until, mode, started_at, listed, missing, recovered, lost, oldest) VALUES
    ('github', 'one', now(), now(), 'auto', now() - interval '10 minutes', 100, 3, 2, 1, now() - interval '5 hours'),
    ('github', 'two', now(), now(), 'report', now() - interval '20 minutes', 50, 4, 0, 0, now() - interval '4 hours'),
    ('github', 'one', now(), now(), 'auto', now() - interval '2 hours', 1000, 9, 9, 9, now() - interval '9 hours');
