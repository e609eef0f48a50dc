-- Inserts the given number of events and of effects. A hundredth of the events and a tenth of the
-- effects wait.
SET session_replication_role = replica;
INSERT INTO hooklatch.destinations (name, kind, queue, config_hash)
SELECT 'app' || d, 'http', 'dst_app' || d, '' FROM generate_series(0, 9) AS d;
INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, received_at, outcome)
SELECT 'source' || i % 5, 'evt_' || i, i, gen_random_uuid(), 'stripe', 't', gen_random_uuid(), '', 'dispatch', now() - interval '1 hour' + i * interval '1 microsecond',
	CASE WHEN i % 100 = 0 THEN 'received' WHEN i % 5000 = 1 THEN 'failed' WHEN i % 5000 = 2 THEN 'held' ELSE 'dispatched' END
FROM generate_series(1, $1::integer) AS i;
INSERT INTO hooklatch.effects (scope, key, idempotency_key, destination, queue, policy, state, attempt, next_attempt_at, finished_at, order_key, accept_seq)
SELECT 's', 'e' || i, 'hl_e' || i, 'app' || i % 10, 'dst_app' || i % 10, 'at_least_once',
	CASE WHEN i % 10 = 3 THEN 'pending' WHEN i % 2000 = 5 THEN 'failed' WHEN i % 2000 = 7 THEN 'parked' ELSE 'done' END, 1,
	now() - interval '1 hour' + i * interval '1 microsecond', CASE WHEN i % 10 <> 3 THEN now() - interval '30 minutes' END, '', NULL
FROM generate_series(1, $1::integer) AS i;
RESET session_replication_role;
