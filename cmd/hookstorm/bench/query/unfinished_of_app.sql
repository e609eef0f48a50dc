-- Reports whether events, effects or jobs are unfinished. Effects of destinations other than app,
-- and ordered effects, do not count.
SELECT EXISTS (SELECT FROM hooklatch.processed_events WHERE outcome = 'received')
    OR EXISTS (
        SELECT
        FROM hooklatch.effects
        WHERE destination = 'app'
            AND order_key = ''
            AND state IN ('pending', 'started', 'in_doubt')
    )
    OR EXISTS (
        SELECT
        FROM hooklatch.river_job
        WHERE queue IN ('dispatch', 'dst_app')
            AND state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
    )
