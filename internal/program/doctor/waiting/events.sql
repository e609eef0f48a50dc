-- Lists events that wait to be dispatched, by queue, with the last report of the queue's workers:
-- River reports when it starts and every 10 minutes. Events of sources that no running worker
-- serves are not listed: another query reports them by source.
WITH waits AS MATERIALIZED (
    SELECT found.source
    FROM {{undispatched_sources}} AS found
), served AS MATERIALIZED (
    SELECT waits.source
    FROM waits
    WHERE NOT ({{is_unserved}})
)
SELECT p.queue, count(*) AS events, min(p.received_at) AS since, q.updated_at AS reported_at
FROM hooklatch.processed_events AS p
LEFT JOIN hooklatch.river_queue AS q ON q.name = p.queue
WHERE p.outcome = 'received'
    AND p.source IN (SELECT served.source FROM served)
GROUP BY p.queue, q.updated_at
ORDER BY p.queue COLLATE "C"
