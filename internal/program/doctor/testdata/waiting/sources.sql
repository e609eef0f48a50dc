-- One running worker has only stripe, and another one has an older configuration. Events of
-- billing wait. Some events of github are skipped, although none was skipped four hours ago.
-- Events of mail are skipped, as they were four hours ago.
INSERT INTO hooklatch.river_leader (elected_at, expires_at, leader_id)
VALUES (now(), now() + interval '1 hour', 'b');
INSERT INTO hooklatch.workers (id, started_at, config_hash, destinations, queues, configuration, configured_at, routes, sources)
VALUES
    ('newest', now(), '', '{}', '{}', 2, now() - interval '5 minutes', 'b', '{stripe}'),
    ('older', now(), '', '{}', '{}', 1, now() - interval '1 hour', 'a', '{github,stripe}');
INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, received_at, outcome)
SELECT s.name, i::text, i, gen_random_uuid(), 'stripe', 't', gen_random_uuid(), '', 'dispatch', now() - s.ago, 'received'
FROM (VALUES ('billing', interval '2 hours'), ('stripe', interval '2 seconds')) AS s (name, ago)
CROSS JOIN generate_series(1, 3) AS i;
INSERT INTO hooklatch.minutes (minute, kind, name, what, n)
VALUES
    (date_trunc('minute', now() - interval '10 minutes'), 'source', 'github', 'skipped', 12),
    (date_trunc('minute', now() - interval '10 minutes'), 'source', 'github', 'dispatched', 30),
    (date_trunc('minute', now() - interval '10 minutes'), 'source', 'mail', 'skipped', 5);
INSERT INTO hooklatch.hours (hour, kind, name, what, n)
VALUES
    (date_trunc('hour', now() - interval '4 hours', 'UTC'), 'source', 'github', 'dispatched', 400),
    (date_trunc('hour', now() - interval '4 hours', 'UTC'), 'source', 'mail', 'skipped', 100);
INSERT INTO hooklatch.river_queue (name, updated_at)
VALUES ('dispatch', now());
