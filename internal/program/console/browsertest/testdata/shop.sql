-- This script stores the data that a shop's console shows at one moment, :now: nine hours of
-- deliveries from four senders, a destination that is down, a paused destination, and effects that
-- are parked, in doubt and failed. In sessions whose search_path begins with shop, now() returns
-- this moment.
CREATE SCHEMA shop;
CREATE FUNCTION shop.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$SELECT timestamptz ':now'$$;
CREATE FUNCTION shop.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS $$SELECT timestamptz ':now'$$;
SET search_path = shop, pg_catalog, public;
SET session_replication_role = replica;
SET timezone = 'UTC';

-- This block creates partitions for 15 days from :now, and one for all earlier days.
DO $$
DECLARE
    whole text;
    day   date;
BEGIN
    FOREACH whole IN ARRAY ARRAY['deliveries', 'links', 'attempts', 'transitions'] LOOP
        EXECUTE format('DROP TABLE IF EXISTS hooklatch.%I', whole || '_past');
        EXECUTE format('CREATE TABLE hooklatch.%I PARTITION OF hooklatch.%I FOR VALUES FROM (MINVALUE) TO (%L)',
            whole || '_before', whole, date_trunc('day', timestamptz ':now', 'UTC'));
        FOR ahead IN 0..14 LOOP
            day := (timestamptz ':now' AT TIME ZONE 'UTC')::date + ahead;
            IF to_regclass('hooklatch.' || whole || '_' || to_char(day, 'YYYYMMDD')) IS NULL THEN
                EXECUTE format('CREATE TABLE hooklatch.%I PARTITION OF hooklatch.%I FOR VALUES FROM (%L) TO (%L)',
                    whole || '_' || to_char(day, 'YYYYMMDD'), whole, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
            END IF;
        END LOOP;
    END LOOP;
END
$$;
INSERT INTO hooklatch.river_leader (elected_at, expires_at, leader_id, name)
VALUES (now() - interval '6 days', now() + interval '1 minute', 'worker-1', 'default')
ON CONFLICT (name) DO UPDATE SET expires_at = EXCLUDED.expires_at;

INSERT INTO hooklatch.destinations (name, kind, queue, policy, config_hash, registered_at, operator_paused, paused_by, pause_reason, paused_at, breaker_state, breaker_reason, opened_at, probe_at)
VALUES
    ('app', 'http', 'dst_app', 'at_least_once', '3f2a91c0', now() - interval '30 days', false, '', '', NULL, 'closed', '', NULL, NULL),
    ('crm', 'http', 'dst_crm', 'at_least_once', '3f2a91c0', now() - interval '30 days', false, '', '', NULL, 'open', '10 of 10 attempts failed, the last with: 503 Service Unavailable', now() - interval '19 minutes', now() + interval '3 minutes'),
    ('mail', 'email', 'dst_mail', 'at_most_once', '3f2a91c0', now() - interval '30 days', false, '', '', NULL, 'closed', '', NULL, NULL),
    ('warehouse', 'http', 'dst_warehouse', 'at_least_once', '3f2a91c0', now() - interval '30 days', true, 'ada', 'stock-taking until three', now() - interval '42 minutes', 'closed', '', NULL, NULL);
INSERT INTO hooklatch.workers (id, started_at, seen_at, config_hash, destinations, queues)
SELECT 'worker-' || i, now() - interval '6 days', now(), '3f2a91c0', ARRAY['app', 'crm', 'mail', 'warehouse'], ARRAY['dst_app', 'dst_crm', 'dst_mail', 'dst_warehouse']
FROM generate_series(1, 2) AS i;
INSERT INTO hooklatch.processes (name, kind, version, config_hash, settings, seen_at)
VALUES
    ('gateway-1', 'gateway', 'v1.0.0', '3f2a91c0', '{}', now() - interval '3 seconds'),
    ('gateway-2', 'gateway', 'v1.0.0', '3f2a91c0', '{}', now() - interval '1 second'),
    ('worker-1', 'worker', 'v1.0.0', '3f2a91c0', '{}', now() - interval '4 seconds'),
    ('worker-2', 'worker', 'v1.0.0', '3f2a91c0', '{}', now() - interval '2 seconds');

CREATE TEMPORARY TABLE came AS
SELECT
    i, 9812400 - i AS accept_seq, now() - i * interval '37.3 seconds' - interval '2 seconds' AS at, md5('delivery' || i)::uuid AS delivery,
    k.source,
    CASE k.source
        WHEN 'stripe' THEN (ARRAY['invoice.paid', 'customer.updated', 'charge.succeeded', 'invoice.payment_failed', 'charge.refunded'])[1 + i % 5]
        WHEN 'github' THEN (ARRAY['push', 'pull_request.opened', 'check_run.completed'])[1 + i % 3]
        WHEN 'shopify' THEN (ARRAY['orders/create', 'orders/paid', 'inventory_levels/update'])[1 + i % 3]
        ELSE (ARRAY['message', 'reaction_added'])[1 + i % 2]
    END AS type,
    CASE k.source
        WHEN 'stripe' THEN 'evt_1Q8pZc' || left(translate(md5('s' || i), 'abcdef', 'LkdIwH'), 18)
        WHEN 'slack' THEN 'Ev0' || upper(left(md5('l' || i), 8))
        ELSE md5(k.source || i)::uuid::text
    END AS id,
    (ARRAY['cus_42', 'cus_R7n2', 'cus_Qa81', 'cus_Zk03'])[1 + i % 4] AS customer
FROM generate_series(1, 900) AS i
CROSS JOIN LATERAL (SELECT (ARRAY['stripe', 'github', 'stripe', 'shopify', 'stripe', 'slack', 'stripe', 'shopify', 'github'])[1 + i % 9]) AS k (source);
UPDATE came SET id = 'evt_1Q8pZcLkdIwHu7ix0Rb407f', type = 'invoice.payment_failed', customer = 'cus_42' WHERE i = 13;

INSERT INTO hooklatch.processed_events (
    source, event_id, accept_seq, acceptance_id, provider, event_type, api_version, occurred_at, received_at, delivery_id, payload_hash, queue, outcome,
    processed_at, config_hash, duplicates, last_duplicate_at, retry_number, retry_reason
)
SELECT
    source, id, accept_seq, md5('accept' || i)::uuid, source, type, CASE source WHEN 'stripe' THEN '2026-10-29' ELSE '' END, at - interval '1.6 seconds', at, delivery,
    sha256(id::bytea), 'dispatch', CASE WHEN source = 'slack' THEN 'skipped' ELSE 'dispatched' END, at + interval '31 milliseconds', '',
    CASE WHEN i = 13 THEN 2 WHEN i % 16 = 0 THEN 1 ELSE 0 END, CASE WHEN i = 13 OR i % 16 = 0 THEN at + interval '15 seconds' END,
    CASE WHEN i = 13 THEN 1 ELSE 0 END, CASE WHEN i = 13 THEN 'timeout' ELSE '' END
FROM came;
INSERT INTO hooklatch.deliveries (delivery_id, received_at, source, headers, content_type, body)
SELECT
    delivery, at, source, '{"Content-Type": ["application/json; charset=utf-8"], "User-Agent": ["Stripe/1.0 (+https://stripe.com/docs/webhooks)"]}', 'application/json',
    convert_to(jsonb_build_object(
        'id', id, 'type', type, 'created', extract(epoch FROM at)::bigint - 1, 'livemode', true,
        'data', jsonb_build_object('object', jsonb_build_object(
            'id', 'in_1Q8pZb' || left(md5('o' || i), 10), 'object', 'invoice', 'customer', customer, 'customer_email', 'jenny.rosen@example.com',
            'amount_due', 4900, 'attempt_count', 2, 'currency', 'eur', 'paid', false,
            'lines', jsonb_build_array(jsonb_build_object('description', 'Team plan, November', 'amount', 4900))))
    )::text, 'UTF8')
FROM came;

CREATE TEMPORARY TABLE made AS
SELECT
    c.*, t.destination, t.route, t.policy,
    'route:' || c.source || ':' || t.route AS scope, 'hl_' || left(encode(sha256((c.id || t.destination)::bytea), 'hex'), 40) AS key,
    CASE
        WHEN t.destination = 'warehouse' AND c.i < 70 THEN 'pending'
        WHEN t.destination = 'mail' AND c.i = 13 THEN 'parked'
        WHEN t.destination = 'mail' AND c.i BETWEEN 118 AND 122 THEN 'parked'
        WHEN t.destination = 'crm' AND c.i < 32 THEN CASE WHEN c.i > 26 THEN 'in_doubt' ELSE 'pending' END
        WHEN t.destination = 'crm' AND c.i BETWEEN 32 AND 50 THEN 'failed'
        WHEN t.destination = 'app' AND c.i IN (46, 47, 203, 204) THEN 'failed'
        ELSE 'done'
    END AS state,
    row_number() OVER (ORDER BY c.accept_seq, t.destination) AS number
FROM came AS c
CROSS JOIN LATERAL (
    SELECT 'app', 'everything', 'at_least_once' WHERE c.source <> 'slack'
    UNION ALL
    SELECT 'mail', 'dunning', 'at_most_once' WHERE c.type IN ('invoice.payment_failed', 'invoice.paid')
    UNION ALL
    SELECT 'crm', 'customers', 'at_least_once' WHERE c.source = 'stripe' AND c.type IN ('customer.updated', 'charge.refunded')
    UNION ALL
    SELECT 'warehouse', 'orders', 'at_least_once' WHERE c.source = 'shopify'
) AS t (destination, route, policy);

INSERT INTO hooklatch.effects (
    effect_id, scope, key, idempotency_key, route, destination, queue, policy, source, event_id, event_type, accept_seq, request_method, request_url, request_type,
    state, attempt, claim_id, next_attempt_at, created_at, first_attempt_at, last_attempt_at, maybe_applied_since, finished_at,
    response_status, response_excerpt, error, occurred_at, claimed_at, settled_attempt
)
SELECT
    number, scope, id, key, route, destination, 'dst_' || destination, policy, source, id, type, accept_seq,
    CASE destination WHEN 'mail' THEN 'MAIL' ELSE 'POST' END,
    CASE destination WHEN 'app' THEN 'https://shop.example.com/hooks' WHEN 'crm' THEN 'https://crm.example.com/api/v2/customers' WHEN 'warehouse' THEN 'https://wms.example.com/orders' ELSE '' END,
    'application/json', state,
    tried.n, NULL, CASE WHEN state = 'pending' AND tried.n > 0 THEN now() + number % 20 * interval '1 minute' ELSE at END,
    at + interval '31 milliseconds', CASE WHEN tried.n > 0 THEN at + interval '55 milliseconds' END,
    CASE WHEN tried.n > 0 THEN LEAST(at + interval '55 milliseconds' + (tried.n - 1) * interval '4 minutes', now() - interval '3 seconds') END,
    CASE WHEN state = 'in_doubt' OR destination = 'mail' AND state = 'parked' THEN at + interval '60 milliseconds' END,
    CASE WHEN state IN ('done', 'failed', 'parked') THEN at + interval '240 milliseconds' END,
    CASE WHEN state = 'done' THEN CASE destination WHEN 'mail' THEN 250 ELSE 200 END WHEN state = 'failed' THEN CASE destination WHEN 'app' THEN 422 ELSE 404 END WHEN destination = 'crm' AND state = 'pending' THEN 503 END,
    CASE WHEN state = 'done' AND destination <> 'mail' THEN '{"ok":true}' WHEN state = 'failed' THEN '{"error":"no such customer"}' WHEN destination = 'crm' THEN 'upstream connect error' ELSE '' END,
    CASE WHEN state = 'failed' THEN 'refused' WHEN state = 'pending' AND tried.n > 0 THEN 'answered 503' WHEN state = 'in_doubt' THEN 'read: connection reset by peer' WHEN state = 'parked' THEN 'no answer to the message: i/o timeout' ELSE '' END,
    at, CASE WHEN tried.n > 0 THEN at END, NULLIF(tried.n, 0)
FROM made
CROSS JOIN LATERAL (SELECT CASE WHEN destination = 'warehouse' AND state = 'pending' THEN 0 WHEN state = 'done' THEN 1 + (number % 23 = 0)::integer WHEN destination = 'crm' AND state = 'pending' THEN 3 ELSE 1 END) AS tried (n);
INSERT INTO hooklatch.links (accept_seq, linked_at, generation, suppressed, scope, key)
SELECT accept_seq, at, 1, false, scope, id FROM made;
INSERT INTO hooklatch.attempts (effect_id, started_at, claimed_at, finished_at, settled_at, attempt, response_status, state, applied, response_excerpt, error)
SELECT
    e.effect_id, begun.at, begun.at, begun.at + took.it, begun.at + took.it, n.n,
    CASE WHEN n.n < e.attempt THEN 503 ELSE e.response_status END, CASE WHEN n.n < e.attempt THEN 'pending' ELSE e.state END,
    CASE WHEN n.n = e.attempt AND e.state = 'done' THEN 'yes' WHEN n.n = e.attempt AND e.maybe_applied_since IS NOT NULL THEN 'unknown' ELSE 'no' END,
    CASE WHEN n.n < e.attempt THEN 'upstream connect error' ELSE e.response_excerpt END, CASE WHEN n.n < e.attempt THEN 'answered 503' ELSE e.error END
FROM hooklatch.effects AS e
CROSS JOIN LATERAL generate_series(1, e.attempt) AS n (n)
CROSS JOIN LATERAL (SELECT e.first_attempt_at + (n.n - 1) * interval '4 minutes') AS begun (at)
CROSS JOIN LATERAL (SELECT CASE WHEN e.state = 'parked' THEN interval '15 seconds' ELSE interval '48 milliseconds' + e.effect_id % 90 * interval '2 milliseconds' END) AS took (it);

INSERT INTO hooklatch.minutes (minute, kind, name, what, n)
SELECT date_trunc('minute', now()) - m * interval '1 minute', counted.kind, counted.name, counted.what, counted.n
FROM generate_series(0, 26 * 60) AS m
CROSS JOIN LATERAL (SELECT (40 + 25 * sin(m / 230.0) + m * 7919 % 13)::bigint) AS load (n)
CROSS JOIN LATERAL (
    VALUES
        ('source', 'stripe', 'accepted', load.n), ('source', 'stripe', 'duplicate', load.n / 14 + (m / 60 = 5)::integer * 4),
        ('source', 'github', 'accepted', load.n / 3), ('source', 'github', 'duplicate', (m % 9 = 0)::integer),
        ('source', 'shopify', 'accepted', load.n / 2), ('source', 'shopify', 'duplicate', load.n / 9),
        ('source', 'slack', 'accepted', load.n / 8),
        ('source', 'shopify', 'refused:wrong_signature', CASE WHEN m < 18 AND m % 2 = 0 THEN 1 ELSE 0 END),
        ('destination', 'app', 'first', load.n), ('destination', 'app', 'first_failed', (m % 11 = 0)::integer), ('destination', 'app', 'attempts', load.n + 1),
        ('destination', 'app', 'took:0.1', load.n), ('destination', 'app', 'took:0.5', (m % 7 = 0)::integer * 2),
        ('destination', 'mail', 'first', load.n / 6), ('destination', 'mail', 'first_failed', (m IN (8, 77))::integer), ('destination', 'mail', 'attempts', load.n / 6),
        ('destination', 'mail', 'took:0.25', load.n / 6),
        ('destination', 'warehouse', 'first', CASE WHEN m > 42 THEN load.n / 2 ELSE 0 END),
        ('destination', 'crm', 'first', CASE WHEN m > 18 THEN load.n / 5 ELSE 0 END), ('destination', 'crm', 'first_failed', CASE WHEN m BETWEEN 19 AND 24 THEN load.n / 6 ELSE (m % 31 = 0)::integer END),
        ('destination', 'crm', 'attempts', CASE WHEN m > 18 THEN load.n / 5 + 1 ELSE (m % 6 = 0)::integer END),
        ('destination', 'crm', 'took:0.25', CASE WHEN m > 18 THEN load.n / 5 ELSE 0 END), ('destination', 'crm', 'took:30', CASE WHEN m BETWEEN 19 AND 21 THEN 2 ELSE 0 END)
) AS counted (kind, name, what, n)
WHERE counted.n > 0;
INSERT INTO hooklatch.hours (hour, kind, name, what, n)
SELECT date_trunc('hour', minute), kind, name, what, sum(n) FROM hooklatch.minutes GROUP BY 1, 2, 3, 4;
INSERT INTO hooklatch.last_seen (kind, name, what, seen_at)
SELECT kind, name, what, CASE name WHEN 'slack' THEN max(minute) - interval '3 minutes' ELSE now() - interval '4 seconds' END FROM hooklatch.minutes GROUP BY kind, name, what;
INSERT INTO hooklatch.last_seen (kind, name, what, seen_at)
VALUES ('source', 'stripe', 'secret:aaaa', now() - interval '4 seconds'), ('source', 'stripe', 'secret:bbbb', now() - interval '3 days');
INSERT INTO hooklatch.sizes (day, table_name, rows, bytes)
SELECT (now() - d * interval '1 day')::date, t.name, t.rows - d * t.rows / 40, t.bytes - d * t.bytes / 40
FROM generate_series(0, 14) AS d
CROSS JOIN (VALUES ('processed_events', 9812400, 4930000000), ('deliveries', 9790000, 14800000000), ('effects', 12400000, 8120000000), ('attempts', 12900000, 2240000000)) AS t (name, rows, bytes);

INSERT INTO hooklatch.rejected_deliveries (rejection_id, source, rejected_at, reason, detail, address, known, method, host, secure, target, headers, body, bytes)
SELECT
    md5('refused' || i)::uuid, r.source, now() - i * interval '118 seconds', r.reason, r.detail, r.address::cidr, r.known, 'POST', 'hooks.example.com', true, '/webhooks/' || r.source,
    '{"Content-Type": ["application/json"], "User-Agent": ["Shopify-Captain-Hook"], "X-Shopify-Topic": ["orders/create"], "X-Shopify-Shop-Domain": ["example-shop.myshopify.com"]}',
    convert_to('{"id":82098291' || 2000 + i || ',"name":"#' || 1100 + i || '","currency":"EUR","total_price":"49.00","customer":{"id":7301,"email":"jenny.rosen@example.com"}}', 'UTF8'),
    1380 + i
FROM generate_series(1, 41) AS i
CROSS JOIN LATERAL (
    SELECT 'shopify', 'wrong_signature', 'no secret of the source matches X-Shopify-Hmac-SHA256', '203.0.113.24/32', true WHERE i % 6 <> 0
    UNION ALL
    SELECT 'stripe', 'old_timestamp', 'signed 11 minutes before it arrived', '198.51.100.7/32', false WHERE i % 6 = 0
) AS r (source, reason, detail, address, known);

INSERT INTO hooklatch.operator_log (id, at, who, role, via, action, target, filter, reason, result, affected, request_id)
OVERRIDING SYSTEM VALUE
SELECT n, now() - ago::interval, who, role, via, action, target, '{}', reason, result, affected, md5('request' || n)::uuid::text
FROM (VALUES
    (9, '4 minutes', 'grace', 'operator', 'console', 'effect.retry', (SELECT min(key) FROM made WHERE destination = 'app'), 'customer was missing, is there now', 'reopened', 1),
    (8, '42 minutes', 'ada', 'operator', 'console', 'destination.pause', 'warehouse', 'stock-taking until three', 'paused', 1),
    (7, '3 hours', 'ada', 'admin', 'cli', 'event.replay', 'stripe/evt_1Q8pZcLkdIwHu7ix0Rb407f', 'the dunning route is fixed', 'replayed', 1),
    (6, '5 hours', 'grace', 'operator', 'console', 'effect.cancel', (SELECT min(key) FROM made WHERE destination = 'crm'), 'customer asked to be forgotten', 'cancelled', 1),
    (5, '1 day', 'deploy', 'admin', 'api', 'destination.resume', 'app', 'release 412 is out', 'resumed', 1),
    (4, '1 day 4 minutes', 'deploy', 'admin', 'api', 'destination.pause', 'app', 'release 412', 'paused', 1),
    (3, '2 days', 'grace', 'operator', 'console', 'quarantine.retry', 'shopify', 'secret rolled', 'part 1', 38),
    (2, '6 days', 'ada', 'operator', 'console', 'destination.probe', 'crm', 'they restarted it', 'due now', 1)
) AS ordered (n, ago, who, role, via, action, target, reason, result, affected);

INSERT INTO hooklatch.replay_runs (
    id, name, action, filter, per_second, who, role, via, reason, request_id, created_at, state, since, selected, changed, reopened, in_doubt, total, leased_until
)
OVERRIDING SYSTEM VALUE
SELECT
    n, name, action, filter::jsonb, pace, who, role, via, reason, md5('run' || n)::uuid::text, now() - began::interval, state, now() - since::interval,
    selected, selected - moved, reopened, in_doubt, total, now() + lease::interval
FROM (VALUES
    (12, 'after the crm fix', 'effect.retry', '{"states": ["failed", "parked"], "destination": "crm", "as_of": "2026-11-20T14:11:31Z"}', 50, 'ada', 'admin', 'console', 'the crm is back', '16 seconds', 'running', '16 seconds', 812, 3, 0, 6, 1198, '20 seconds'),
    (11, '', 'event.replay', '{"source": "stripe", "type": "invoice.*", "state": "skipped", "since": "2026-11-19T14:00:00Z", "last": 9812004}', 20, 'grace', 'operator', 'console', 'the dunning route was missing', '3 hours', 'done', '174 minutes', 340, 0, 2, 0, 340, '-1 hour'),
    (10, 'release 412', 'effect.park', '{"states": ["pending"], "destination": "app", "as_of": "2026-11-19T14:08:00Z"}', 0, 'deploy', 'admin', 'api', 'release 412', '1 day 4 minutes', 'stopped', '1 day 3 minutes', 2600, 11, 0, 0, 4110, '-1 day')
) AS begun (n, name, action, filter, pace, who, role, via, reason, began, state, since, selected, moved, reopened, in_doubt, total, lease);

RESET session_replication_role;
ANALYZE;
