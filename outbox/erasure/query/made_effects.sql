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
FROM (
    -- The view all_links is not used, because its bounds do not allow for every error of the clock.
    SELECT p.source, p.event_id, l.scope, l.key, l.generation, l.suppressed
    FROM hooklatch.processed_events AS p
    JOIN hooklatch.links AS l ON l.accept_seq = p.accept_seq
    WHERE p.source = :source
        AND p.event_id = :event_id
    UNION ALL
    SELECT l.source, l.event_id, l.scope, l.key, l.generation, l.suppressed
    FROM hooklatch.effect_events AS l
    WHERE l.source = :source
        AND l.event_id = :event_id
) AS l
CROSS JOIN LATERAL (
    SELECT e.scope, e.key, e.generation, e.idempotency_key, e.state, e.finished_at, e.latest_key, e.source, e.event_id
    FROM hooklatch.effects AS e
    WHERE e.scope = l.scope
        AND e.key = l.key
        AND e.generation = l.generation
    OFFSET 0 -- forces one look-up per effect
) AS e
WHERE NOT l.suppressed
    OR e.source = l.source AND e.event_id = l.event_id
