-- Lists quarantined deliveries from addresses whose earlier deliveries were accepted, by source.
-- Such deliveries are most likely genuine.
SELECT
    r.source, count(*), min(r.rejected_at) AS since, max(r.rejected_at) AS latest,
    (array_agg(r.reason ORDER BY r.rejected_at DESC))[1] AS reason,
    NOT EXISTS (
        SELECT
        FROM hooklatch.last_seen AS s
        WHERE s.kind = 'source'
            AND s.name = r.source
            AND s.what = 'accepted'
            AND s.seen_at > min(r.rejected_at)
    ) AS none_accepted
FROM hooklatch.rejected_deliveries AS r
WHERE r.known
GROUP BY r.source
ORDER BY r.source COLLATE "C"
