-- Reads the next :look events before a position, newest first, and returns at most :limit matching
-- events. The last row describes the end of the slice. The statement reads only the slice, even if
-- few events match.
WITH slice AS MATERIALIZED (
    SELECT {{event_looked_at}}
    FROM hooklatch.processed_events AS p
    WHERE p.accept_seq < :before
        AND p.accept_seq >= :down_to
    ORDER BY p.accept_seq DESC
    LIMIT :look
), asked_for AS (
    SELECT s.*
    FROM slice AS s
    WHERE {{event_asked_for}}
    ORDER BY s.accept_seq DESC
    LIMIT :limit
)
SELECT 0 AS looked, accept_seq, received_at, source, event_id, delivery_id
FROM asked_for
UNION ALL
SELECT count(*), min(accept_seq), min(received_at), '', '', NULL
FROM slice
