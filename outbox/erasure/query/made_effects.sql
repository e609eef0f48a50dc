-- The effects that an event created. If an earlier event with the same key created an effect, the
-- effect belongs to the earlier event.
SELECT DISTINCT
    e.scope, e.key, e.generation, e.idempotency_key, e.state, e.finished_at,
    COALESCE((
        SELECT o.latest_key
        FROM hooklatch.object_versions AS o
        WHERE e.latest_key <> ''
            AND o.scope = e.scope
            AND o.latest_key = e.latest_key
    ), '') AS object_key
FROM hooklatch.all_links AS l
CROSS JOIN LATERAL (
    SELECT e.scope, e.key, e.generation, e.idempotency_key, e.state, e.finished_at, e.latest_key, e.source, e.event_id
    FROM hooklatch.effects AS e
    WHERE e.scope = l.scope
        AND e.key = l.key
        AND e.generation = l.generation
    OFFSET 0 -- forces one look-up per effect
) AS e
WHERE l.source = :source
    AND l.event_id = :event_id
    AND (NOT l.suppressed OR e.source = l.source AND e.event_id = l.event_id)
