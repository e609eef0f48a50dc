-- Counts the live dispatch and effect jobs, and the unfinished events and effects.
SELECT
    (
        SELECT count(*)
        FROM hooklatch.river_job
        WHERE kind IN ('dispatch', 'effect')
            AND state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
    ) AS jobs,
    (SELECT count(*) FROM hooklatch.processed_events WHERE outcome = 'received')
    + (SELECT count(*) FROM hooklatch.effects WHERE state IN ('pending', 'started', 'in_doubt')) AS unfinished
