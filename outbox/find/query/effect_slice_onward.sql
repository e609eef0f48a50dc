-- Returns the next effects after a position, in order of creation. Its counterpart effect_slice
-- returns the effects before a position. Erased effects, and effects that finished after
-- :finished_until, are omitted.
WITH slice AS MATERIALIZED (
    SELECT {{effect_looked_at}}
    FROM hooklatch.effects AS e
    WHERE (e.created_at, e.idempotency_key) > (:after_time, :after_key)
        AND e.created_at >= COALESCE(:since::timestamptz, '-infinity')
        AND e.created_at <= :until
    ORDER BY e.created_at, e.idempotency_key
    LIMIT :look
), asked_for AS (
    SELECT s.*
    FROM slice AS s
    WHERE {{effect_asked_for}}
        AND s.erased_at IS NULL
        AND COALESCE(s.finished_at, '-infinity') <= :finished_until
    ORDER BY s.created_at, s.idempotency_key
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
        ORDER BY s.created_at DESC, s.idempotency_key DESC
        LIMIT 1
    ) AS ended ON true
)
