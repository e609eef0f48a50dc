-- Registers events that another system accepted, without a delivery and without a job. Their
-- positions are below the positions of all events accepted here, and decrease in the given order,
-- which is newest first. Stored keys stay unchanged.
WITH arriving AS MATERIALIZED (
    SELECT -nextval('hooklatch.accept_seq') AS accept_seq, k.*
    FROM :keys AS k (event_id text, received_at timestamptz)
)
INSERT INTO hooklatch.processed_events (
    accept_seq, source, event_id, acceptance_id, provider, event_type, received_at, delivery_id, payload_hash, queue, outcome, processed_at
)
SELECT
    accept_seq, :source, event_id, gen_random_uuid(), '', 'unknown', received_at, '00000000-0000-0000-0000-000000000000', '', '', 'imported', now()
FROM arriving
ORDER BY event_id COLLATE "C" -- the lock order of T1 (accept.sql), so that this statement and T1 cannot deadlock
ON CONFLICT (source, event_id) DO NOTHING
