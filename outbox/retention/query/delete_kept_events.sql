-- Reads a slice of the events kept beyond their retention. Deletes the events that no work needs
-- any more.
WITH looked AS MATERIALIZED (
    SELECT p.accept_seq, p.source, p.event_id, p.received_at, p.outcome, p.generation, p.processed_at
    FROM (
        SELECT k.accept_seq
        FROM hooklatch.events_kept AS k
        WHERE k.accept_seq > :after
        ORDER BY k.accept_seq
        LIMIT :look
    ) AS k
    CROSS JOIN LATERAL (
        SELECT e.accept_seq, e.source, e.event_id, e.received_at, e.outcome, e.generation, e.processed_at
        FROM hooklatch.processed_events AS e
        WHERE e.accept_seq = k.accept_seq
        OFFSET 0 -- forces one look-up for each row
    ) AS p
), {{judged_events}}
