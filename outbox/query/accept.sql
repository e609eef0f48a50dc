-- T1: stores the new events, their deliveries, and a job for each event that needs one. Events are
-- inserted in key order, so that two batches with the same keys cannot deadlock. A key without a
-- returned row was accepted before.
WITH arriving AS MATERIALIZED (
    -- Events are numbered in order of arrival, before the insert sorts them.
    SELECT nextval('hooklatch.accept_seq') AS accept_seq, a.*
    FROM :events AS a (
        source text, event_id text, acceptance_id uuid, provider text, event_type text, api_version text, occurred_at timestamptz,
        delivery_id uuid, item text, payload_hash bytea, traceparent text, queue text, replay_suspect boolean, retry_number integer, retry_reason text, held boolean,
        origin text, altered text, job_priority smallint, job_args text, job_metadata text, job_tags text
    )
), accepted AS (
    INSERT INTO hooklatch.processed_events (
        accept_seq, source, event_id, acceptance_id, provider, event_type, api_version, occurred_at,
        delivery_id, item, payload_hash, traceparent, queue, replay_suspect, retry_number, retry_reason, origin, altered, outcome
    )
    SELECT
        accept_seq, source, event_id, acceptance_id, provider, event_type, api_version, occurred_at,
        delivery_id, item, payload_hash, traceparent, queue, replay_suspect, retry_number, retry_reason, origin, altered,
        CASE WHEN held THEN 'held' ELSE 'received' END
    FROM arriving
    ORDER BY source COLLATE "C", event_id COLLATE "C"
    ON CONFLICT (source, event_id) DO NOTHING
    RETURNING accept_seq, source, event_id, received_at, delivery_id
), stored AS (
    INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)
    SELECT d.delivery_id, d.source, d.headers, d.content_type, d.body
    FROM :deliveries AS d (delivery_id uuid, source text, headers jsonb, content_type text, body bytea)
    WHERE d.delivery_id IN (SELECT delivery_id FROM accepted)
), enqueued AS (
    -- Inserts jobs like River's client, except that times are from the database clock and no client
    -- is notified.
    INSERT INTO hooklatch.river_job (kind, queue, priority, args, metadata, max_attempts, tags)
    SELECT :kind, a.queue, a.job_priority, a.job_args::jsonb, a.job_metadata::jsonb, :max_attempts, string_to_array(a.job_tags, ',')::varchar(255)[]
    FROM accepted
    JOIN arriving AS a USING (accept_seq)
    WHERE a.job_args <> ''
    ORDER BY accept_seq
)
SELECT source, event_id, received_at, accept_seq, false AS is_planned
FROM accepted
