-- Returns a row if every job of an effect of the destination $1 has been tried, except the first one,
-- which the others are copies of.
SELECT
WHERE NOT EXISTS (
    SELECT
    FROM hooklatch.river_job
    WHERE kind = 'effect'
        AND args ->> 'destination' = $1
        AND (state = 'running' OR attempted_at IS NULL)
        AND id > (SELECT min(id) FROM hooklatch.river_job WHERE kind = 'effect' AND args ->> 'destination' = $1)
)
