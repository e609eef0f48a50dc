-- Returns the next events after a position, in order of acceptance. Its counterpart event_slice
-- returns the events before a position. An event younger than :settles_in_seconds ends the slice,
-- because earlier events might not be committed yet. If :settles_in_seconds is NULL, no event ends
-- the slice early.
WITH ahead AS MATERIALIZED (
    SELECT {{event_looked_at}}
    FROM hooklatch.processed_events AS p
    WHERE p.accept_seq > :after
        AND p.accept_seq < :up_to
    ORDER BY p.accept_seq
    LIMIT :look
), slice AS MATERIALIZED (
    SELECT a.*
    FROM ahead AS a
    WHERE a.accept_seq < COALESCE((
        SELECT min(young.accept_seq)
        FROM ahead AS young
        WHERE young.received_at >= now() - make_interval(secs => :settles_in_seconds::double precision)
    ), :up_to)
), asked_for AS (
    SELECT s.*
    FROM slice AS s
    WHERE {{event_asked_for}}
        AND (NOT :unerased OR s.erased_at IS NULL)
        AND (NOT :unredacted OR s.redacted_at IS NULL)
    ORDER BY s.accept_seq
    LIMIT :limit
)
SELECT 0 AS looked, accept_seq, received_at, source, event_id, delivery_id
FROM asked_for
UNION ALL
SELECT count(*), max(accept_seq), max(received_at), '', '', NULL
FROM slice
