-- Marks the event as failed after its last dispatch attempt. The reconciler then skips it until an
-- operator replays it. Returns true if the event is left to a process with a newer configuration;
-- then nothing is written.
WITH newer AS MATERIALIZED (
    SELECT n.*
    FROM {{newer_configurations}} AS n
), judged AS MATERIALIZED (
    SELECT planned.configuration > 0 AND {{left_to_newer}} AS is_left
    FROM (VALUES (:source::text, :configuration::bigint, :routes::text, :for_handlers::boolean))
        AS planned (source, configuration, routes, for_handlers)
), locked AS (
    SELECT p.source, p.event_id, p.generation, p.outcome
    FROM hooklatch.processed_events AS p
    WHERE p.source = :source
        AND p.event_id = :event_id
        AND NOT (SELECT judged.is_left FROM judged)
    FOR UPDATE
), failed AS (
    UPDATE hooklatch.processed_events AS p
    SET
        outcome = 'failed',
        processed_at = now(),
        error = :error
    FROM locked
    WHERE {{same_event}}
        AND locked.generation = :generation
        AND locked.outcome = 'received'
)
SELECT is_left
FROM judged
