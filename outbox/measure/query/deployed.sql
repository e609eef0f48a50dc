-- The latest time at which a running process or its configuration started. NULL if no process runs.
SELECT max(GREATEST(w.started_at, w.configured_at)) AS deployed_at
FROM hooklatch.workers AS w
WHERE w.seen_at > now() - make_interval(secs => :worker_seconds::float8)
