-- Unfinished effects that no live job will attempt or settle.
SELECT e.scope, e.key, e.generation, e.destination, COALESCE(d.queue, e.queue) AS queue, e.source, e.event_id, e.event_type, e.traceparent
FROM hooklatch.effects AS e
LEFT JOIN hooklatch.destinations AS d ON d.name = e.destination
WHERE {{effect_lacks_its_job}}
    AND e.created_at < now() - make_interval(secs => :grace_seconds::float8)
ORDER BY e.next_attempt_at
LIMIT :limit
