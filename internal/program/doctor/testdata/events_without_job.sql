-- Until six minutes after midnight UTC, the day of the delivery may have no partition. In that
-- case, no delivery is stored.
INSERT INTO hooklatch.deliveries (delivery_id, received_at, source, headers, content_type, body)
SELECT '018f0000-0000-7000-8000-000000000001', received_at, 'stripe', '{}', 'application/json', '{}'
FROM (SELECT now() - interval '6 minutes' AS received_at) AS delivery
WHERE to_regclass('hooklatch.deliveries_' || to_char(received_at AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NOT NULL;
INSERT INTO hooklatch.processed_events (source, event_id, accept_seq, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome, error)
VALUES ('stripe', 'evt_1', 1, gen_random_uuid(), 'stripe', 'invoice.paid', now() - interval '6 minutes', '018f0000-0000-7000-8000-000000000001', '', 'dispatch', 'received', '');
