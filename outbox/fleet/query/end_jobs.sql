-- Ends jobs that wait for a destination that is retired: its effects are parked, and
-- nobody works its queue. Those of one that was registered anew stay.
WITH idle AS (
    SELECT j.id
    FROM hooklatch.river_job AS j
    WHERE j.kind = 'effect'
        AND j.state IN ('available', 'pending', 'retryable', 'scheduled')
        AND j.args ->> 'destination' = :destination
        AND NOT EXISTS (SELECT FROM hooklatch.destinations AS d WHERE d.name = :destination)
    LIMIT :limit
    FOR UPDATE OF j SKIP LOCKED
)
UPDATE hooklatch.river_job AS j
SET
    state = 'cancelled',
    finalized_at = now()
FROM idle
WHERE j.id = idle.id
