-- The lists that live_jobs.sql may not have read to their end, each with the latest scheduled_at
-- that was read. The table job contains the rows of live_jobs.sql. River runs the jobs of a queue
-- by priority first, so each priority is a list of its own.
(
    SELECT job.queue, job.state, job.priority, max(job.scheduled_at) AS last
    FROM job
    GROUP BY job.queue, job.state, job.priority
    HAVING count(*) >= CASE job.state WHEN 'running' THEN 10 ELSE 1 END * :look::bigint
)
