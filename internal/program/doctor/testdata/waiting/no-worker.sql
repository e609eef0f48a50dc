INSERT INTO hooklatch.river_leader (elected_at, expires_at, leader_id) VALUES (now() - interval '2 hours', now() - interval '1 hour', 'gone');
INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, received_at)
SELECT 'stripe', i::text, i, gen_random_uuid(), 'stripe', 't', gen_random_uuid(), '', 'dispatch', now() - interval '40 minutes'
FROM generate_series(1, 1000) AS i;
INSERT INTO hooklatch.river_queue (name, updated_at) VALUES ('dispatch', now() - interval '1 hour');
INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, next_attempt_at)
VALUES ('s', '1', 'hl_1', 'app', 'dst_app', 'at_least_once', now() - interval '30 minutes');
