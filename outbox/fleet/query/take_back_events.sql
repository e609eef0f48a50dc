-- Moves the waiting jobs of events of the given sources from the queues of handlers to the queue of
-- routes, unless a running process has handlers for the source.
WITH unhandled AS (
    SELECT given.source
    FROM unnest(:sources::text[]) AS given (source)
    WHERE NOT EXISTS (
        SELECT
        FROM hooklatch.workers AS w
        WHERE w.seen_at > now() - make_interval(secs => :seen_seconds::float8)
            AND ARRAY[given.source, '*'] && w.handler_sources
    )
), stranded AS (
    SELECT j.id
    FROM hooklatch.river_job AS j
    WHERE j.kind = 'dispatch'
        AND j.state IN ('available', 'pending', 'retryable', 'scheduled')
        AND j.queue = ANY (:queues::text[])
        AND j.args ->> 'source' IN (SELECT unhandled.source FROM unhandled)
    LIMIT :limit
    FOR UPDATE OF j SKIP LOCKED
)
UPDATE hooklatch.river_job AS j
SET queue = 'dispatch'
FROM stranded
WHERE j.id = stranded.id
