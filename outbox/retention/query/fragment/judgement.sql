-- Judges the events in looked. An event dispatched after the needs of effects were read may have
-- effects that are missing from those needs.
SELECT
    l.*,
    m.source IS NOT NULL AS member,
    l.received_at < m.before AS expired,
    l.outcome IN ('received', 'failed', 'held')
        OR EXISTS (SELECT FROM unnest(:needed::bigint[]) AS n (accept_seq) WHERE n.accept_seq = l.accept_seq)
        OR COALESCE(l.processed_at >= :since, false) AS needed
FROM looked AS l
LEFT JOIN :members AS m (source text, before timestamptz) ON m.source = l.source
