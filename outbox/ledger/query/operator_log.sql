-- What people ordered, the newest first. An empty filter takes all.
SELECT id, at, who, role, via, action, target, filter, reason, result, affected, request_id, COALESCE(run_id, 0)
FROM hooklatch.operator_log
WHERE (:since::timestamptz IS NULL OR at >= :since)
    AND (COALESCE(cardinality(:targets::text[]), 0) = 0 OR target = ANY (:targets))
ORDER BY at DESC, id DESC
LIMIT :limit
