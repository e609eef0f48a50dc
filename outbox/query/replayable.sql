-- The next events of a replay, in the order they were accepted. What a replay
-- guard held is among them only when it is asked for.
SELECT p.source, p.event_id, p.accept_seq
FROM hooklatch.processed_events AS p
WHERE (p.outcome = :outcome OR :outcome = '' AND p.outcome IN ('dispatched', 'skipped', 'failed'))
    AND (:source = '' OR p.source = :source)
    AND (:event_type = '' OR p.event_type = :event_type)
    AND (:since::timestamptz IS NULL OR p.received_at >= :since)
    AND (:until::timestamptz IS NULL OR p.received_at < :until)
    AND p.accept_seq > :after
    AND p.accept_seq <= :last
ORDER BY p.accept_seq
LIMIT :limit
