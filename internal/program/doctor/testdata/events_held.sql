INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)
VALUES ('018f0000-0000-7000-8000-000000000001', 'stripe', '{}', 'application/json', '{}');
INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome, error)
VALUES ('stripe', 'evt_1', nextval('hooklatch.accept_seq'), gen_random_uuid(), 'stripe', 'invoice.paid', now(), '018f0000-0000-7000-8000-000000000001', '', 'dispatch', 'held', '');
