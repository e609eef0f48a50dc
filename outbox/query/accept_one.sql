-- T1 for a batch of one delivery with one event to store. It does the same as accept.sql, but does
-- not unnest arrays, and does not sort or join rows. These steps take half of the time that
-- accept.sql needs for a single event.
WITH accepted AS (
    INSERT INTO hooklatch.processed_events (
        accept_seq, source, event_id, acceptance_id, provider, event_type, api_version, occurred_at,
        delivery_id, item, payload_hash, traceparent, queue, replay_suspect, retry_number, retry_reason, origin, altered, outcome
    )
    VALUES (
        nextval('hooklatch.accept_seq'), :source, :event_id, :acceptance_id, :provider, :event_type, :api_version, :occurred_at,
        :delivery_id, :item, :payload_hash, :traceparent, :queue, :replay_suspect, :retry_number, :retry_reason, :origin, :altered,
        CASE WHEN :held::boolean THEN 'held' ELSE 'received' END
    )
    ON CONFLICT (source, event_id) DO NOTHING
    RETURNING accept_seq, source, event_id, received_at, delivery_id, queue
), stored AS (
    INSERT INTO hooklatch.deliveries (delivery_id, source, headers, content_type, body)
    SELECT delivery_id, source, :headers::jsonb, :content_type::text, :body::bytea
    FROM accepted
), enqueued AS (
    INSERT INTO hooklatch.river_job (kind, queue, priority, args, metadata, max_attempts, tags)
    SELECT
        :kind, queue, :job_priority::smallint, NULLIF(:job_args::text, '')::jsonb, NULLIF(:job_metadata::text, '')::jsonb, -- Postgres casts the text before it evaluates WHERE
        :max_attempts, string_to_array(:job_tags::text, ',')::varchar(255)[]
    FROM accepted
    WHERE :job_args::text <> ''
)
SELECT source, event_id, received_at, accept_seq, false AS is_planned
FROM accepted
