INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome, error)
VALUES ('stripe', 'evt_1', nextval('hooklatch.accept_seq'), gen_random_uuid(), 'stripe', 'invoice.paid', now(), gen_random_uuid(), '', 'dispatch', 'dispatched', '');
