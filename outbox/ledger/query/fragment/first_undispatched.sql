-- The accept_seq of the first event of source.waits_for that is not dispatched yet.
(
        SELECT p.accept_seq
        FROM hooklatch.processed_events AS p
        WHERE p.source = source.waits_for
            AND p.outcome = 'received'
        ORDER BY p.accept_seq
        LIMIT 1
    )
