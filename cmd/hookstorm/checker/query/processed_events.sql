-- Every stored event, including imported and fetched ones.
SELECT row_to_json(r)::text
FROM (
    SELECT
        source, event_id, accept_seq, acceptance_id, delivery_id, event_type, item, encode(payload_hash, 'hex') AS payload_hash,
        occurred_at, received_at, outcome, generation, effect_generation, processed_at, error, duplicates, body_differs, erased_at, redacted_at, origin
    FROM hooklatch.processed_events
) AS r
