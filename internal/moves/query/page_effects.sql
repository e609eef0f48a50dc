-- Returns a page of effects in the order of their creation. The content is NULL unless the effect
-- belongs to a route of the source and its key differs from its event's id. The new cell need not
-- know an effect whose key is its event's id, because no other event can create that effect.
-- Effects of one transaction have the same time, so they are always in one page.
WITH looked AS (
    SELECT e.*
    FROM hooklatch.effects AS e
    WHERE e.created_at > COALESCE(NULLIF(:after, ''), '-infinity')::timestamptz
    ORDER BY e.created_at
    FETCH FIRST (:limit) ROWS WITH TIES
)
SELECT
    e.created_at::text,
    CASE
        WHEN e.source = :source AND e.key <> e.event_id AND starts_with(e.scope, 'route:' || :source || ':') THEN
            hooklatch.moving_content('effects', to_jsonb(e) - 'request_body')::text
    END
FROM looked AS e
ORDER BY e.created_at
