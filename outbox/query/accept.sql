-- T1: stores the events that are new, in the order of their keys so that two
-- batches with the same keys cannot deadlock, and the deliveries they came in.
-- No row for a key means that it was accepted before.
WITH arriving AS MATERIALIZED (
    -- Numbered in order of arrival, before the insert sorts them.
    SELECT nextval('hooklatch.accept_seq') AS accept_seq, a.*
    FROM unnest(
        $1::text[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
        $8::uuid[], $9::text[], $10::bytea[], $11::text[], $12::text[], $13::boolean[], $14::integer[], $15::text[], $16::boolean[]
    ) AS a (source, event_id, acceptance_id, provider, event_type, api_version, occurred_at,
        delivery_id, item, payload_hash, traceparent, queue, replay_suspect, retry_number, retry_reason, held)
), accepted AS (
    INSERT INTO hooklatch.processed_events (
        accept_seq, source, event_id, acceptance_id, provider, event_type, api_version, occurred_at,
        delivery_id, item, payload_hash, traceparent, queue, replay_suspect, retry_number, retry_reason, outcome
    )
    SELECT
        accept_seq, source, event_id, acceptance_id, provider, event_type, api_version, occurred_at,
        delivery_id, item, payload_hash, traceparent, queue, replay_suspect, retry_number, retry_reason,
        CASE WHEN held THEN 'held' ELSE 'received' END
    FROM arriving
    ORDER BY source COLLATE "C", event_id COLLATE "C"
    ON CONFLICT (source, event_id) DO NOTHING
    RETURNING source, event_id, received_at, delivery_id
), stored AS (
    INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)
    SELECT d.delivery_id, d.source, d.headers, d.content_type, d.body
    FROM unnest($17::uuid[], $18::text[], $19::jsonb[], $20::text[], $21::bytea[])
        AS d (delivery_id, source, headers, content_type, body)
    WHERE d.delivery_id IN (SELECT delivery_id FROM accepted)
)
SELECT source, event_id, received_at
FROM accepted
