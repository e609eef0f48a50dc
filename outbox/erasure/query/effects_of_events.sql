-- The effects that several events created. The statement made_effects.sql does this for one event.
SELECT DISTINCT e.scope, e.key, e.generation
FROM :events AS asked (source text, event_id text)
CROSS JOIN LATERAL (
    SELECT l.scope, l.key, l.generation, l.suppressed
    FROM hooklatch.all_links AS l
    WHERE l.source = asked.source
        AND l.event_id = asked.event_id
    OFFSET 0 -- forces one look-up per event
) AS l
CROSS JOIN LATERAL (
    SELECT e.scope, e.key, e.generation, e.source, e.event_id
    FROM hooklatch.effects AS e
    WHERE e.scope = l.scope
        AND e.key = l.key
        AND e.generation = l.generation
    OFFSET 0
) AS e
WHERE NOT l.suppressed
    OR e.source = asked.source AND e.event_id = asked.event_id
