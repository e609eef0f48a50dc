-- The quarantined deliveries of each source. The last two columns include only deliveries from
-- known addresses since the source's last accepted delivery. An address was known if a delivery
-- from it had been accepted in the 30 days before.
SELECT
    r.source, count(*), sum(r.bytes)::bigint, min(r.rejected_at),
    count(*) FILTER (WHERE r.known AND r.rejected_at > COALESCE(s.seen_at, '-infinity')),
    min(r.rejected_at) FILTER (WHERE r.known AND r.rejected_at > COALESCE(s.seen_at, '-infinity'))
FROM hooklatch.rejected_deliveries AS r
LEFT JOIN hooklatch.last_seen AS s ON s.kind = 'source' AND s.name = r.source AND s.what = 'accepted'
GROUP BY r.source
