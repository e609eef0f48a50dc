-- The next events of a replay, in the order they were accepted.
SELECT p.source, p.event_id, p.accept_seq
FROM hooklatch.processed_events AS p
WHERE p.outcome <> 'received'
    AND ($1 = '' OR p.source = $1)
    AND ($2 = '' OR p.event_type = $2)
    AND ($3 = '' OR p.outcome = $3)
    AND ($4::timestamptz IS NULL OR p.received_at >= $4)
    AND ($5::timestamptz IS NULL OR p.received_at < $5)
    AND p.accept_seq > $6
    AND p.accept_seq <= $7
ORDER BY p.accept_seq
LIMIT $8
