SELECT EXISTS (SELECT FROM hooklatch.processed_events WHERE outcome = 'received')
    OR EXISTS (SELECT FROM hooklatch.effects WHERE state IN ('pending', 'started', 'in_doubt'))
    OR EXISTS (
        SELECT
        FROM hooklatch.river_job
        WHERE kind IN ('dispatch', 'effect')
            AND state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
    )
