-- How many events a replay would look at, and the newest of them: what is
-- accepted later is not replayed.
SELECT count(*), COALESCE(max(p.accept_seq), 0)
FROM hooklatch.processed_events AS p
WHERE (p.outcome = $3 OR $3 = '' AND p.outcome IN ('dispatched', 'skipped', 'failed'))
    AND ($1 = '' OR p.source = $1)
    AND ($2 = '' OR p.event_type = $2)
    AND ($4::timestamptz IS NULL OR p.received_at >= $4)
    AND ($5::timestamptz IS NULL OR p.received_at < $5)
