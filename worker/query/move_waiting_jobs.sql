-- Effects wait in the queue their destination had when they were made. After
-- a change of the configuration nobody may work that queue any more.
WITH configured AS (
    SELECT d.*
    FROM unnest($1::text[], $2::text[]) AS d (destination, queue)
), moved_effects AS (
    UPDATE hooklatch.effects AS e
    SET queue = configured.queue
    FROM configured
    WHERE e.destination = configured.destination
        AND e.queue <> configured.queue
        AND e.state IN ('pending', 'started', 'in_doubt')
    RETURNING e.scope, e.key, e.generation, e.queue
), moved_jobs AS (
    UPDATE hooklatch.river_job AS j
    SET queue = e.queue
    FROM moved_effects AS e
    WHERE j.kind = 'effect'
        AND j.state IN ('available', 'pending', 'retryable', 'scheduled')
        AND j.args ->> 'scope' = e.scope
        AND j.args ->> 'key' = e.key
        AND (j.args ->> 'generation')::integer = e.generation
    RETURNING j.id
)
SELECT count(*)
FROM moved_jobs
