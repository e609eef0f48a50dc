-- The next :look events after :after and up to :last, in the order they were accepted.
-- However few of them are wanted, a statement reads no more.
(
    SELECT p.source, p.event_id, p.accept_seq, p.event_type, p.received_at, p.outcome, p.erased_at, p.redacted_at
    FROM hooklatch.processed_events AS p
    WHERE p.accept_seq > :after
        AND p.accept_seq <= :last
    ORDER BY p.accept_seq
    LIMIT :look
)
