-- Counts unfinished events, effects by destination and state, and jobs by kind and state.
SELECT count(*) || ' events'
FROM hooklatch.processed_events
WHERE outcome = 'received'
HAVING count(*) > 0
UNION ALL
SELECT count(*) || ' effects of ' || destination || ', ' || state
FROM hooklatch.effects
WHERE state IN ('pending', 'started', 'in_doubt')
GROUP BY destination, state
UNION ALL
SELECT count(*) || ' jobs of kind ' || kind || ', ' || state
FROM hooklatch.river_job
WHERE state IN ('available', 'pending', 'retryable', 'running', 'discarded')
GROUP BY kind, state
