-- The next deliveries of a walk, without bodies and headers.
SELECT {{summary}}
FROM hooklatch.rejected_deliveries AS r
WHERE {{selected}}
    AND (:after_at::timestamptz IS NULL OR (r.rejected_at, r.rejection_id) > (:after_at, :after_id))
ORDER BY r.rejected_at, r.rejection_id
LIMIT :limit
