-- The next events of a replay, in the order they were accepted.
SELECT p.source, p.event_id, p.accept_seq
FROM hooklatch.processed_events AS p
WHERE {{may_be_replayed}}
    AND p.accept_seq > :after
    AND p.accept_seq <= :last
ORDER BY p.accept_seq
LIMIT :limit
