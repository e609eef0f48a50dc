-- The stored effects of an exported event. The export contains the effects that existed when the
-- event's day was exported. The links also name the effects of later replays.
SELECT e.scope, e.key, e.generation, e.idempotency_key, e.state
FROM (
    SELECT asked.scope, asked.key, asked.generation, asked.row_id, NULL::timestamptz AS created_at
    FROM :effects AS asked (scope text, key text, generation integer, row_id bigint)
    UNION ALL
    SELECT l.scope, l.key, l.generation, NULL, CASE WHEN NOT l.suppressed THEN l.linked_at END
    FROM hooklatch.links AS l
    WHERE l.accept_seq = :accept_seq
    UNION ALL
    SELECT l.scope, l.key, l.generation, NULL, CASE WHEN NOT l.suppressed THEN l.linked_at END
    FROM hooklatch.effect_events AS l
    WHERE l.source = :source
        AND l.event_id = :event_id
) AS known
CROSS JOIN LATERAL (
    SELECT e.scope, e.key, e.generation, e.idempotency_key, e.state
    FROM hooklatch.effects AS e
    WHERE e.scope = known.scope
        AND e.key = known.key
        AND ( -- later effects of other events may have the same key
            e.effect_id = known.row_id
            OR e.source = :source AND e.event_id = :event_id
            -- An effect that a handler enqueued has no event in its row. Its link is as old as the effect.
            OR e.source = '' AND e.generation = known.generation AND e.created_at = known.created_at
        )
    OFFSET 0 -- forces one look-up per key
) AS e
GROUP BY e.scope, e.key, e.generation, e.idempotency_key, e.state
ORDER BY e.scope COLLATE "C", e.key COLLATE "C", e.generation
