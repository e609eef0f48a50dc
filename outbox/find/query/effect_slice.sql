-- The next effects back from a place, as event_slice has events. Those of one moment
-- are in the order of their keys.
WITH slice AS MATERIALIZED (
    SELECT
        e.created_at, e.idempotency_key, e.scope, e.key, e.generation, e.state, e.destination, e.route,
        e.source, e.event_id, e.event_type
    FROM hooklatch.effects AS e
    WHERE (e.created_at, e.idempotency_key) < (COALESCE(:before_time::timestamptz, 'infinity'), :before_key)
        AND e.created_at >= COALESCE(:since::timestamptz, '-infinity')
    ORDER BY e.created_at DESC, e.idempotency_key DESC
    LIMIT :look
), asked_for AS (
    SELECT s.*
    FROM slice AS s
    WHERE (:state = '' OR s.state = :state)
        AND (NOT :attention OR s.state IN ('in_doubt', 'parked', 'failed'))
        AND (:destination = '' OR s.destination = :destination)
        AND (:route = '' OR s.route = :route)
        AND (:source = '' OR s.source = :source)
        AND (:type_like = '' OR s.event_type LIKE :type_like)
    ORDER BY s.created_at DESC, s.idempotency_key DESC
    LIMIT :limit
)
SELECT 0 AS looked, created_at, idempotency_key, scope, key, generation, source, event_id
FROM asked_for
UNION ALL
(
    SELECT (SELECT count(*) FROM slice), ended.created_at, ended.idempotency_key, '', '', 0, '', ''
    FROM (SELECT) AS always
    LEFT JOIN (
        SELECT s.created_at, s.idempotency_key
        FROM slice AS s
        ORDER BY s.created_at, s.idempotency_key
        LIMIT 1
    ) AS ended ON true
)
