-- Returns a destination's overdue, unordered effects that no live job will attempt or settle.
WITH job AS MATERIALIZED {{live_jobs}}, overdue AS MATERIALIZED (
    SELECT e.scope, e.key, e.generation, e.destination, e.queue, e.source, e.event_id, e.event_type, e.traceparent, e.next_attempt_at
    FROM hooklatch.effects AS e
    WHERE e.destination = ANY (ARRAY[:destination]) -- steps into the index effects_due: see oldest_due.sql
        AND e.order_key = ''
        AND e.state IN ('pending', 'started', 'in_doubt')
        AND e.next_attempt_at < LEAST(now() - make_interval(secs => :grace_seconds::float8), {{known_until}})
    ORDER BY e.destination, e.next_attempt_at
    LIMIT 3 * :look::bigint
)
SELECT
    e.scope, e.key, e.generation, e.destination, COALESCE(d.queue, e.queue) AS queue,
    e.source, e.event_id, e.event_type, {{origin_of_event}} AS origin, e.traceparent, e.next_attempt_at, '' AS order_key, false AS is_end
FROM overdue AS e
LEFT JOIN hooklatch.destinations AS d ON d.name = e.destination
WHERE NOT {{has_job}}
ORDER BY e.next_attempt_at
LIMIT :look
