-- Events of a period that need attention, in slices by order of arrival.
SELECT p.accept_seq
FROM hooklatch.processed_events AS p
WHERE p.outcome IN ('failed', 'held')
    AND p.accept_seq > :after
    AND p.received_at >= to_timestamp(:from::bigint)
    AND p.received_at < to_timestamp(:until::bigint)
ORDER BY p.accept_seq
LIMIT :look
