-- Moves the waiting jobs of the given sources' events, with their events, from the given queues to
-- the queue of routes. An event is locked before its job, as in all other statements.
WITH stranded AS MATERIALIZED (
    SELECT j.id, j.args ->> 'source' AS source, j.args ->> 'event_id' AS event_id
    FROM hooklatch.river_job AS j
    WHERE j.kind = 'dispatch'
        AND j.state IN ('available', 'pending', 'retryable', 'scheduled')
        AND j.queue = ANY (:queues::text[])
        AND j.args ->> 'source' = ANY (:sources::text[])
    LIMIT :limit
), moved AS (
    UPDATE hooklatch.processed_events AS p
    SET queue = 'dispatch'
    FROM (
        SELECT stranded.id, event.source, event.event_id
        FROM stranded
        CROSS JOIN LATERAL (
            SELECT e.source, e.event_id
            FROM hooklatch.processed_events AS e
            WHERE e.source = stranded.source
                AND e.event_id = stranded.event_id
                AND e.outcome = 'received'
            FOR UPDATE SKIP LOCKED
        ) AS event
    ) AS locked
    WHERE p.source = locked.source
        AND p.event_id = locked.event_id
    RETURNING locked.id
)
UPDATE hooklatch.river_job AS j
SET queue = 'dispatch'
FROM moved
WHERE j.id = moved.id
    AND j.state IN ('available', 'pending', 'retryable', 'scheduled')
