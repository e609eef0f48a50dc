INSERT INTO hooklatch.river_leader (elected_at, expires_at, leader_id) VALUES (now(), now() + interval '1 hour', 'me');
INSERT INTO hooklatch.river_queue (name, updated_at) VALUES ('dispatch', now()), ('dst_app', now() - interval '5 minutes');
INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, received_at)
VALUES
    ('stripe', '1', 1, gen_random_uuid(), 'stripe', 't', gen_random_uuid(), '', 'handlers-stripe', now() - interval '40 minutes'),
    ('github', '2', 2, gen_random_uuid(), 'github', 't', gen_random_uuid(), '', 'dispatch', now() - interval '2 minutes'),
    ('github', '3', 3, gen_random_uuid(), 'github', 't', gen_random_uuid(), '', 'dispatch', now());
INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, next_attempt_at, order_key, accept_seq)
VALUES
    ('s', '1', 'hl_1', 'app', 'dst_app', 'at_least_once', now() - interval '90 minutes', 'user', 1),
    ('s', '2', 'hl_2', 'app', 'dst_app', 'at_least_once', now() - interval '99 minutes', 'user', 2),
    ('s', '3', 'hl_3', 'app', 'dst_app', 'at_least_once', now() + interval '1 hour', '', NULL);
