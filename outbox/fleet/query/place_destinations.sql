-- Assigns each destination the queue in which the most recently started process reads its jobs. A
-- destination that no process serves keeps its queue. The statement also deletes processes that
-- were last seen over a day ago. Processes are kept for that long because, after an outage of the
-- database, events wait for the processes that ran before the outage.
WITH served AS (
    SELECT DISTINCT ON (s.destination) s.destination, s.queue
    FROM hooklatch.workers AS w
    CROSS JOIN LATERAL unnest(w.destinations, w.queues) AS s (destination, queue)
    WHERE w.seen_at > now() - make_interval(secs => :seen_seconds::float8)
    ORDER BY s.destination, w.started_at DESC, w.id
), changed AS (
    SELECT d.name, served.queue
    FROM hooklatch.destinations AS d
    JOIN served ON served.destination = d.name
    WHERE d.queue <> served.queue
        OR d.served_at IS NULL
        OR d.served_at < now() - interval '1 minute'
    ORDER BY d.name COLLATE "C"
    -- A row locked by another transaction is updated the next time.
    FOR UPDATE OF d SKIP LOCKED
), forgotten AS (
    DELETE FROM hooklatch.workers
    WHERE seen_at < now() - interval '1 day'
)
UPDATE hooklatch.destinations AS d
SET
    queue = changed.queue,
    served_at = now()
FROM changed
WHERE d.name = changed.name
