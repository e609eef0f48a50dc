-- A slice of the events after a cursor, each with its fate.
WITH looked AS MATERIALIZED (
    {{events_behind}}
), judged AS (
    {{judgement}}
)
SELECT
    j.accept_seq, j.source, j.received_at,
    CASE WHEN NOT j.member THEN 'other' WHEN NOT j.expired THEN 'young' WHEN j.needed THEN 'kept' ELSE 'gone' END AS fate
FROM judged AS j
ORDER BY j.accept_seq
