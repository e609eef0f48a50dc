SELECT count(*) OVER () AS total, l.source || '/' || l.event_id || ' -> ' || l.scope || ' ' || l.key AS violation
FROM hooklatch.all_links AS l
WHERE NOT EXISTS (
    SELECT
    FROM hooklatch.effects AS e
    WHERE e.scope = l.scope
        AND e.key = l.key
        AND e.generation = l.generation
)
LIMIT :limit
