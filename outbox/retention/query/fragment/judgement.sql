-- Judges the events in looked. An event dispatched at :since or later counts as needed, because
-- effects that it created may be missing from :needed.
SELECT
    l.*,
    m.source IS NOT NULL AS member,
    l.received_at < m.before AS expired,
    l.outcome IN ('received', 'failed', 'held')
        OR EXISTS (SELECT FROM unnest(:needed::bigint[]) AS n (accept_seq) WHERE n.accept_seq = l.accept_seq)
        OR COALESCE(l.processed_at >= :since, false) AS needed
FROM looked AS l
LEFT JOIN :members AS m (source text, before timestamptz) ON m.source = l.source
