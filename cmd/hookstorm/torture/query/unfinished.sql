WITH
events AS (
    SELECT count(*) AS n FROM hooklatch.processed_events WHERE outcome = 'received'
),
effects AS (
    SELECT count(*) AS n FROM hooklatch.effects WHERE state IN ('pending', 'started', 'in_doubt')
),
jobs AS (
    SELECT count(*) AS n
    FROM hooklatch.river_job
    WHERE kind IN ('dispatch', 'effect')
        AND state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
)
SELECT events.n, effects.n, jobs.n FROM events, effects, jobs
