WITH doomed AS (
    SELECT id
    FROM hooklatch.river_job
    WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
    ORDER BY random()
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
DELETE FROM hooklatch.river_job AS j
USING doomed
WHERE j.id = doomed.id
RETURNING j.id || ' ' || j.kind || ' ' || j.state
