-- How many events a replay would look at, and the newest of them: what is
-- accepted later is not replayed.
SELECT count(*), COALESCE(max(p.accept_seq), 0)
FROM hooklatch.processed_events AS p
WHERE (p.outcome = :outcome OR :outcome = '' AND p.outcome IN ('dispatched', 'skipped', 'failed'))
    AND (:source = '' OR p.source = :source)
    AND (:event_type = '' OR p.event_type = :event_type)
    AND (:since::timestamptz IS NULL OR p.received_at >= :since)
    AND (:until::timestamptz IS NULL OR p.received_at < :until)
