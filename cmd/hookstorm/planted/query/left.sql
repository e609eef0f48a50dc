-- How much is left to do: live jobs of ours, and what is not finished.
SELECT
    (
        SELECT count(*)
        FROM hooklatch.river_job
        WHERE kind IN ('dispatch', 'effect')
            AND state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
    ) AS jobs,
    (SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received')
    + (SELECT count(*) FROM hooklatch.effects WHERE state IN ('pending', 'started', 'in_doubt')) AS unfinished
