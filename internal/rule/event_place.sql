-- The first accept_seq from which events were received at :at or later. It is found by bisection,
-- with one look-up per step. Imported events are left out: their accept_seq is below 1, and
-- another system received them.
WITH RECURSIVE span AS (
    SELECT
        COALESCE((
            SELECT p.accept_seq
            FROM hooklatch.processed_events AS p
            WHERE p.accept_seq > 0
            ORDER BY p.accept_seq
            LIMIT 1
        ), 1) AS low,
        COALESCE((
            SELECT p.accept_seq
            FROM hooklatch.processed_events AS p
            WHERE p.accept_seq > 0
            ORDER BY p.accept_seq DESC
            LIMIT 1
        ), 0) + 1 AS high
    UNION ALL
    SELECT
        CASE WHEN probe.received_at < :at THEN probe.accept_seq + 1 ELSE span.low END,
        CASE WHEN probe.received_at < :at THEN span.high ELSE (span.low + span.high) / 2 END
    FROM span
    LEFT JOIN LATERAL (
        SELECT p.accept_seq, p.received_at
        FROM hooklatch.processed_events AS p
        WHERE p.accept_seq >= (span.low + span.high) / 2
        ORDER BY p.accept_seq
        LIMIT 1
    ) AS probe ON true
    WHERE span.low < span.high
)
SELECT low
FROM span
WHERE low >= high
LIMIT 1
