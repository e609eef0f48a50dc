-- Returns all destinations with their states. The rows of the processes are read once, however many
-- destinations there are.
WITH serving AS MATERIALIZED (
    SELECT
        served.name,
        count(*) FILTER (WHERE w.seen_at > now() - make_interval(secs => :seen_seconds::float8)) AS running,
        max(w.seen_at) AS seen_at
    FROM hooklatch.workers AS w
    CROSS JOIN LATERAL unnest(w.destinations) AS served (name)
    GROUP BY served.name
)
SELECT
    d.name, d.kind, d.queue, count(*) OVER (PARTITION BY d.queue) > 1 AS shared_queue,
    d.registered_at, d.operator_paused, d.paused_by, d.pause_reason, d.paused_at,
    d.breaker_state, d.breaker_reason, d.opened_at, d.probe_at, d.epoch,
    q.paused_at IS NOT NULL AS queue_paused,
    COALESCE(serving.running, 0) AS running, GREATEST(d.served_at, serving.seen_at) AS served_at,
    COALESCE(EXTRACT(epoch FROM clock_timestamp() - d.opened_at), 0)::float8 AS open_seconds,
    COALESCE(EXTRACT(epoch FROM d.probe_at - clock_timestamp()), 0)::float8 AS probe_seconds
FROM hooklatch.destinations AS d
LEFT JOIN hooklatch.river_queue AS q ON q.name = d.queue
LEFT JOIN serving ON serving.name = d.name
ORDER BY d.name COLLATE "C"
