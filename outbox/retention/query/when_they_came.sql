-- The arrival times of events.
SELECT p.accept_seq, p.received_at
FROM unnest(:events::bigint[]) AS a (accept_seq)
CROSS JOIN LATERAL (
    SELECT e.accept_seq, e.received_at
    FROM hooklatch.processed_events AS e
    WHERE e.accept_seq = a.accept_seq
    OFFSET 0 -- forces one look-up for each row
) AS p
