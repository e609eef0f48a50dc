-- Registers events that the other cell accepted: their later deliveries are duplicates. Like
-- imported events, these events have no delivery and no job here. See inbox/query/import_keys.sql.
INSERT INTO hooklatch.processed_events (
    accept_seq, source, event_id, acceptance_id, provider, event_type, api_version, occurred_at, received_at,
    delivery_id, payload_hash, queue, outcome, processed_at
)
SELECT
    -nextval('hooklatch.accept_seq'), :source, m.event_id, m.acceptance_id, m.provider, m.event_type, m.api_version, m.occurred_at, m.received_at,
    '00000000-0000-0000-0000-000000000000', m.payload_hash, '', 'imported', now()
FROM jsonb_to_recordset(:contents::jsonb) AS m (
    event_id text, acceptance_id uuid, provider text, event_type text, api_version text, occurred_at timestamptz, received_at timestamptz, payload_hash bytea
)
ORDER BY m.event_id COLLATE "C" -- the lock order of T1 (accept.sql), so that this statement and T1 cannot deadlock
ON CONFLICT (source, event_id) DO NOTHING
