-- Returns the next effects before a position, newest first, in the same form as event_slice.
-- Effects with the same time are ordered by their keys.
WITH slice AS MATERIALIZED (
    SELECT {{effect_looked_at}}
    FROM hooklatch.effects AS e
    WHERE (e.created_at, e.idempotency_key) < (COALESCE(:before_time::timestamptz, 'infinity'), :before_key)
        AND e.created_at >= COALESCE(:since::timestamptz, '-infinity')
    ORDER BY e.created_at DESC, e.idempotency_key DESC
    LIMIT :look
), asked_for AS (
    SELECT s.*
    FROM slice AS s
    WHERE {{effect_asked_for}}
    ORDER BY s.created_at DESC, s.idempotency_key DESC
    LIMIT :limit
)
SELECT
    0 AS looked, created_at, idempotency_key, scope, key, generation, source, event_id,
    maybe_applied_since IS NOT NULL AS in_doubt, request_rendering = 'failed' AS unrendered
FROM asked_for
UNION ALL
(
    SELECT (SELECT count(*) FROM slice), ended.created_at, ended.idempotency_key, '', '', 0, '', '', false, false
    FROM (SELECT) AS always
    LEFT JOIN (
        SELECT s.created_at, s.idempotency_key
        FROM slice AS s
        ORDER BY s.created_at, s.idempotency_key
        LIMIT 1
    ) AS ended ON true
)
