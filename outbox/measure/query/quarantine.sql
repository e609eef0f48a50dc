-- What was refused and is kept, by source, and what of it came from addresses that deliveries
-- were accepted from before, since the source had its last accepted one.
SELECT
    r.source, count(*), sum(r.bytes)::bigint, min(r.rejected_at),
    count(*) FILTER (WHERE r.known AND r.rejected_at > COALESCE(s.seen_at, '-infinity')),
    min(r.rejected_at) FILTER (WHERE r.known AND r.rejected_at > COALESCE(s.seen_at, '-infinity'))
FROM hooklatch.rejected_deliveries AS r
LEFT JOIN hooklatch.last_seen AS s ON s.kind = 'source' AND s.name = r.source AND s.what = 'accepted'
GROUP BY r.source
