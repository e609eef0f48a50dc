SELECT {{summary}}
FROM hooklatch.rejected_deliveries AS r
WHERE {{selected}}
ORDER BY r.rejected_at DESC, r.rejection_id DESC
LIMIT :limit
