INSERT INTO hooklatch.river_leader (elected_at, expires_at, leader_id) VALUES (now(), now() + interval '1 hour', 'me');
INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue)
VALUES ('github', '3', 3, gen_random_uuid(), 'github', 't', gen_random_uuid(), '', 'dispatch');
INSERT INTO hooklatch.river_queue (name, updated_at) VALUES ('dispatch', now());
