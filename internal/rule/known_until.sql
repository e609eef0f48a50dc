-- Until when it is known, from the live jobs in job, what has none: what became due
-- later may have one that was not read. A job waits in its queue from when its work
-- was due; one that was told to come again comes within minutes.
COALESCE((
    SELECT min(CASE
        WHEN list.state = 'available' THEN list.last
        WHEN list.last > now() + interval '10 minutes' THEN 'infinity'
        ELSE '-infinity'
    END)
    FROM (
        SELECT job.queue, job.state, max(job.scheduled_at) AS last
        FROM job
        GROUP BY job.queue, job.state
        HAVING count(*) >= CASE job.state WHEN 'running' THEN 10 ELSE 1 END * :look::bigint
    ) AS list
), 'infinity')
