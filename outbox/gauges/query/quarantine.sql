-- What was refused and is kept, by source.
SELECT r.source, count(*), sum(r.bytes)::bigint, min(r.rejected_at)
FROM hooklatch.rejected_deliveries AS r
GROUP BY r.source
