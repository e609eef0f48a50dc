-- Cancels jobs for retired destinations in queues that no process reads, once their effects are
-- parked or finished. If an operator has retried an effect, its job stays until the destination
-- is registered again.
WITH idle AS (
    SELECT j.id
    FROM hooklatch.river_job AS j
    WHERE j.kind = 'effect'
        AND j.state IN ('available', 'pending', 'retryable', 'scheduled')
        AND j.queue = ANY (:queues::text[])
        AND NOT EXISTS (
            SELECT
            FROM hooklatch.destinations AS d
            WHERE d.name = j.args ->> 'destination'
        )
        AND NOT EXISTS (
            SELECT
            FROM hooklatch.effects AS e
            WHERE e.scope = j.args ->> 'scope'
                AND e.key = j.args ->> 'key'
                AND e.generation = (j.args ->> 'generation')::integer
                AND e.state IN ('pending', 'started', 'in_doubt')
        )
    LIMIT :limit
    FOR UPDATE OF j SKIP LOCKED
)
UPDATE hooklatch.river_job AS j
SET
    state = 'cancelled',
    finalized_at = now()
FROM idle
WHERE j.id = idle.id
