-- Events that wait for their dispatch, by queue, and when a worker of the queue
-- last reported: River does so when it starts and every 10 minutes.
SELECT p.queue, count(*) AS events, min(p.received_at) AS since, q.updated_at AS reported_at
FROM hooklatch.processed_events AS p
LEFT JOIN hooklatch.river_queue AS q ON q.name = p.queue
WHERE p.outcome = 'received'
GROUP BY p.queue, q.updated_at
ORDER BY p.queue COLLATE "C"
