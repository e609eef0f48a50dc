-- Copies the running and scheduled jobs of the kind $1, so that each runs twice, and returns the
-- number of copies. If $2 is not empty, only jobs of the destination $2 are copied.
WITH copied AS (
    INSERT INTO hooklatch.river_job (state, args, kind, max_attempts, metadata, priority, queue, scheduled_at, tags)
    SELECT 'available', args, kind, max_attempts, metadata, priority, queue, now(), tags
    FROM hooklatch.river_job
    WHERE kind = $1
        AND state IN ('running', 'scheduled') -- scheduled: fallback jobs
        AND ($2 = '' OR args ->> 'destination' = $2)
    RETURNING queue
), told AS (
    SELECT pg_notify('hooklatch.river_insert', jsonb_build_object('queue', queue)::text)
    FROM copied
)
SELECT count(*)
FROM told
