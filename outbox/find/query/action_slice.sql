-- Returns the next actions before a position, newest first, in the same form as effect_slice.
-- Actions with the same time are ordered by their ids.
WITH slice AS MATERIALIZED (
    SELECT o.at, o.id, o.who, o.action, o.target
    FROM hooklatch.operator_log AS o
    WHERE (o.at, o.id) < (COALESCE(:before_time::timestamptz, 'infinity'), :before_id::bigint)
        AND o.at >= COALESCE(:since::timestamptz, '-infinity')
    ORDER BY o.at DESC, o.id DESC
    LIMIT :look
), asked_for AS (
    SELECT s.at, s.id
    FROM slice AS s
    WHERE (:who = '' OR s.who = :who)
        AND (:action = '' OR s.action = :action)
        AND (:target = '' OR s.target = :target)
    ORDER BY s.at DESC, s.id DESC
    LIMIT :limit
)
SELECT 0 AS looked, at, id
FROM asked_for
UNION ALL
(
    SELECT (SELECT count(*) FROM slice), ended.at, COALESCE(ended.id, 0)
    FROM (SELECT) AS always
    LEFT JOIN (
        SELECT s.at, s.id
        FROM slice AS s
        ORDER BY s.at, s.id
        LIMIT 1
    ) AS ended ON true
)
