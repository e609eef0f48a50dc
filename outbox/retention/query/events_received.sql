-- Undispatched events of a period, in slices by source and order of arrival.
SELECT p.source, p.accept_seq
FROM hooklatch.processed_events AS p
WHERE p.outcome = 'received'
    AND (p.source, p.accept_seq) > (:source, :after::bigint)
    AND p.received_at >= to_timestamp(:from::bigint)
    AND p.received_at < to_timestamp(:until::bigint)
ORDER BY p.source, p.accept_seq
LIMIT :look
