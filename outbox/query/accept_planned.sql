-- T1 for a batch in which some events already have a plan. It does the same as accept.sql, except
-- that a planned event is stored with the outcome of its plan and gets no job. The event's effects
-- follow in the same transaction, so T1 is also the event's T2.
--
-- A plan is not used while a process with a newer configuration decides (see fence.sql), or while an
-- operator has paused the queue. The event then gets a job like any other event.
WITH newer AS MATERIALIZED (
    SELECT n.*
    FROM {{newer_configurations}} AS n
), paused AS MATERIALIZED (
    SELECT q.name
    FROM hooklatch.river_queue AS q
    WHERE q.paused_at IS NOT NULL
), arriving AS MATERIALIZED (
    -- Events are numbered in order of arrival, before the insert sorts them.
    SELECT
        nextval('hooklatch.accept_seq') AS accept_seq,
        planned.planned_outcome <> ''
            AND NOT (planned.configuration > 0 AND {{left_to_newer}})
            AND planned.queue NOT IN (SELECT paused.name FROM paused) AS is_planned,
        planned.*
    FROM :events AS planned (
        source text, event_id text, acceptance_id uuid, provider text, event_type text, api_version text, occurred_at timestamptz,
        delivery_id uuid, item text, payload_hash bytea, traceparent text, queue text, replay_suspect boolean, retry_number integer, retry_reason text, held boolean,
        origin text, altered text, job_priority smallint, job_args text, job_metadata text, job_tags text,
        came_at timestamptz, planned_outcome text, config_hash text, configuration bigint, routes text, for_handlers boolean
    )
), accepted AS (
    INSERT INTO hooklatch.processed_events (
        accept_seq, source, event_id, acceptance_id, provider, event_type, api_version, occurred_at, received_at,
        delivery_id, item, payload_hash, traceparent, queue, replay_suspect, retry_number, retry_reason, origin, altered,
        outcome, processed_at, config_hash
    )
    SELECT
        accept_seq, source, event_id, acceptance_id, provider, event_type, api_version, occurred_at, COALESCE(came_at, now()),
        delivery_id, item, payload_hash, traceparent, queue, replay_suspect, retry_number, retry_reason, origin, altered,
        CASE WHEN held THEN 'held' WHEN is_planned THEN planned_outcome ELSE 'received' END,
        CASE WHEN is_planned THEN now() END,
        CASE WHEN is_planned THEN config_hash ELSE '' END
    FROM arriving
    ORDER BY source COLLATE "C", event_id COLLATE "C"
    ON CONFLICT (source, event_id) DO NOTHING
    RETURNING accept_seq, source, event_id, received_at, delivery_id
), stored AS (
    -- The delivery gets its events' time of receipt, because readers find a delivery by its id and
    -- that time.
    INSERT INTO hooklatch.deliveries (delivery_id, received_at, source, headers, content_type, body)
    SELECT d.delivery_id, came.received_at, d.source, d.headers, d.content_type, d.body
    FROM (SELECT DISTINCT delivery_id, received_at FROM accepted) AS came
    JOIN :deliveries AS d (delivery_id uuid, source text, headers jsonb, content_type text, body bytea) USING (delivery_id)
), enqueued AS (
    INSERT INTO hooklatch.river_job (kind, queue, priority, args, metadata, max_attempts, tags)
    SELECT :kind, a.queue, a.job_priority, a.job_args::jsonb, a.job_metadata::jsonb, :max_attempts, string_to_array(a.job_tags, ',')::varchar(255)[]
    FROM accepted
    JOIN arriving AS a USING (accept_seq)
    WHERE a.job_args <> ''
        AND NOT a.is_planned
    ORDER BY accept_seq
)
SELECT accepted.source, accepted.event_id, accepted.received_at, accept_seq, a.is_planned
FROM accepted
JOIN arriving AS a USING (accept_seq)
