-- Returns the actions with given ids, with one look-up per id.
SELECT o.id, o.at, o.who, o.role, o.via, o.action, o.target, o.filter, o.reason, o.result, o.affected, o.request_id, COALESCE(o.run_id, 0)
FROM unnest(:ids::bigint[]) AS a (id)
CROSS JOIN LATERAL (
    SELECT o.*
    FROM hooklatch.operator_log AS o
    WHERE o.id = a.id
    LIMIT 1
) AS o
