SELECT r.source, r.reason, count(*), sum(r.bytes)::bigint, min(r.rejected_at), max(r.rejected_at)
FROM hooklatch.rejected_deliveries AS r
WHERE {{selected}}
GROUP BY r.source, r.reason
ORDER BY r.source COLLATE "C", r.reason COLLATE "C"
