-- Counts unfinished events by source, effects by destination and state, and jobs by kind and
-- state.
SELECT count(*) || ' events at ' || source
FROM hooklatch.processed_events
WHERE outcome = ANY ($1)
GROUP BY source
UNION ALL
SELECT count(*) || ' effects at ' || destination || ' ' || state
FROM hooklatch.effects
WHERE state NOT IN ('done', 'failed', 'cancelled', 'parked')
GROUP BY destination, state
UNION ALL
SELECT count(*) || ' jobs ' || kind || ' ' || state
FROM hooklatch.river_job
WHERE kind IN ('dispatch', 'effect')
    AND state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
GROUP BY kind, state
