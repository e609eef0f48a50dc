SELECT count(*) OVER () AS total, l.source || '/' || l.event_id || ' -> ' || l.scope || ' ' || l.key AS violation
FROM hooklatch.all_links AS l
WHERE NOT l.suppressed
    -- Retention deletes effects before their links, so a link before the horizon may lack its
    -- effect. A link of a later event with the same key may be newer than the horizon although the
    -- effect was deleted. Such a link is suppressed, so the first condition excludes it.
    AND l.linked_at >= COALESCE((SELECT p.horizon FROM hooklatch.retention_progress AS p WHERE p.what = 'effects'), '-infinity')
    AND NOT EXISTS (
        SELECT
        FROM hooklatch.effects AS e
        WHERE e.scope = l.scope
            AND e.key = l.key
            AND e.generation = l.generation
    )
LIMIT :limit
