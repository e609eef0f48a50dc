INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, delivery_id, payload_hash, queue, outcome, processed_at, error)
VALUES ('stripe', '1', 1, gen_random_uuid(), 'stripe', 't', gen_random_uuid(), '', 'dispatch', 'failed', now() - interval '1 hour', 'handler: no');
