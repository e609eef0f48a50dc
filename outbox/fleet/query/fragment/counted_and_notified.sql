-- Counts the moved jobs of each queue, and wakes the processes that read the queues.
counted AS (
    SELECT moved.queue, count(*) AS jobs
    FROM moved
    GROUP BY moved.queue
)
SELECT counted.jobs, pg_notify('hooklatch.river_insert', json_build_object('queue', counted.queue)::text) IS NULL AS notified
FROM counted
