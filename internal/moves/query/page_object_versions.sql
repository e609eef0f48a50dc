-- Returns a page of object versions. The content is NULL unless the version belongs to a route of
-- the source.
WITH looked AS (
    SELECT v.*
    FROM hooklatch.object_versions AS v
    WHERE (v.scope, v.latest_key) > (COALESCE(NULLIF(:after, '')::jsonb ->> 0, ''), COALESCE(NULLIF(:after, '')::jsonb ->> 1, ''))
    ORDER BY v.scope, v.latest_key
    LIMIT :limit
)
SELECT
    jsonb_build_array(v.scope, v.latest_key)::text,
    CASE WHEN starts_with(v.scope, 'route:' || :source || ':') THEN hooklatch.moving_content('object_versions', to_jsonb(v))::text END
FROM looked AS v
ORDER BY v.scope, v.latest_key
