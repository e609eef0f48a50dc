-- Moves jobs of effects from the given queues to the queue of their destination.
WITH stranded AS (
    SELECT j.id, d.queue
    FROM hooklatch.river_job AS j
    JOIN hooklatch.destinations AS d ON d.name = j.args ->> 'destination'
    WHERE j.kind = 'effect'
        AND j.state IN ('available', 'pending', 'retryable', 'scheduled')
        AND j.queue = ANY (:queues::text[])
        AND j.queue <> d.queue
    LIMIT :limit
    FOR UPDATE OF j SKIP LOCKED
)
UPDATE hooklatch.river_job AS j
SET queue = stranded.queue
FROM stranded
WHERE j.id = stranded.id
