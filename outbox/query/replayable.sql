-- The next events of a replay, in the order they were accepted. What a replay
-- guard held is among them only when it is asked for.
SELECT p.source, p.event_id, p.accept_seq
FROM hooklatch.processed_events AS p
WHERE (p.outcome = $3 OR $3 = '' AND p.outcome IN ('dispatched', 'skipped', 'failed'))
    AND ($1 = '' OR p.source = $1)
    AND ($2 = '' OR p.event_type = $2)
    AND ($4::timestamptz IS NULL OR p.received_at >= $4)
    AND ($5::timestamptz IS NULL OR p.received_at < $5)
    AND p.accept_seq > $6
    AND p.accept_seq <= $7
ORDER BY p.accept_seq
LIMIT $8
