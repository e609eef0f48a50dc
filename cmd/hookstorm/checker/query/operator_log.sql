-- Every operator action.
SELECT row_to_json(r)::text
FROM (
    SELECT id, at, who, via, action, target, filter, reason, result, affected, request_id
    FROM hooklatch.operator_log
) AS r
