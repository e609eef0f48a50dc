-- Reads a slice of the newest versions of objects, in the order of their keys. Deletes versions
-- that were applied before :before.
WITH looked AS MATERIALIZED (
    SELECT v.scope, v.latest_key, v.applied_at
    FROM hooklatch.object_versions AS v
    WHERE (v.scope, v.latest_key) > (:scope, :latest_key)
    ORDER BY v.scope, v.latest_key
    LIMIT :look
), gone AS (
    DELETE FROM hooklatch.object_versions AS v
    USING (SELECT scope, latest_key FROM looked WHERE applied_at < :before ORDER BY scope COLLATE "C", latest_key COLLATE "C") AS old
    WHERE v.scope = ANY (ARRAY[old.scope])
        AND v.latest_key = old.latest_key
        AND v.applied_at < :before
    RETURNING v.scope
)
SELECT
    (SELECT count(*) FROM looked) AS looked,
    (SELECT count(*) FROM gone) AS gone,
    COALESCE(last.scope, ''), COALESCE(last.latest_key, '')
FROM (SELECT) AS one
LEFT JOIN (SELECT scope, latest_key FROM looked ORDER BY scope DESC, latest_key DESC LIMIT 1) AS last ON true
