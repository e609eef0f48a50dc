-- Returns a row if every effect job of the destination $1 except the first has been tried and is
-- not running. The other jobs are copies of the first.
SELECT
WHERE NOT EXISTS (
    SELECT
    FROM hooklatch.river_job
    WHERE kind = 'effect'
        AND args ->> 'destination' = $1
        AND (state = 'running' OR attempted_at IS NULL)
        AND id > (SELECT min(id) FROM hooklatch.river_job WHERE kind = 'effect' AND args ->> 'destination' = $1)
)
