-- Returns operator actions, newest first. Each target's actions are found by a step into an index.
-- Without a target, the query returns the newest actions on all targets.
WITH found AS (
    SELECT o.at, o.id
    FROM unnest(:targets::text[]) AS asked (target)
    CROSS JOIN LATERAL (
        SELECT o.at, o.id
        FROM hooklatch.operator_log AS o
        WHERE o.target = ANY (ARRAY[asked.target])
            AND o.at >= COALESCE(:since::timestamptz, '-infinity')
        ORDER BY o.target DESC, o.at DESC, o.id DESC
        LIMIT :limit
    ) AS o
    UNION
    (
        SELECT o.at, o.id
        FROM hooklatch.operator_log AS o
        WHERE COALESCE(cardinality(:targets::text[]), 0) = 0
            AND o.at >= COALESCE(:since::timestamptz, '-infinity')
        ORDER BY o.at DESC, o.id DESC
        LIMIT :limit
    )
), newest AS MATERIALIZED (
    SELECT f.at, f.id
    FROM found AS f
    ORDER BY f.at DESC, f.id DESC
    LIMIT :limit
)
SELECT o.id, o.at, o.who, o.role, o.via, o.action, o.target, o.filter, o.reason, o.result, o.affected, o.request_id, COALESCE(o.run_id, 0)
FROM newest
CROSS JOIN LATERAL (
    SELECT o.*
    FROM hooklatch.operator_log AS o
    WHERE o.id = newest.id
    LIMIT 1
) AS o
ORDER BY newest.at DESC, newest.id DESC
