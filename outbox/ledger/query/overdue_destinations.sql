-- Returns the destinations of unfinished effects, and the queues of the effects' jobs. Paused
-- destinations are left out, because their effects need no job.
SELECT waiting.destination, array_agg(DISTINCT COALESCE(d.queue, waiting.queue)) || array_agg(DISTINCT waiting.queue) AS queues
FROM {{unfinished_destinations}} AS waiting
LEFT JOIN hooklatch.destinations AS d ON d.name = waiting.destination
WHERE NOT COALESCE(d.operator_paused OR d.breaker_state <> 'closed', false)
GROUP BY waiting.destination
ORDER BY waiting.destination COLLATE "C"
