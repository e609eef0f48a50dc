-- The next events of a replay, in the order they were accepted. With fewer than :limit
-- of them, the last row says after which event the next call goes on; there is none at
-- the end.
WITH found AS MATERIALIZED (
    SELECT p.source, p.event_id, p.accept_seq
    FROM {{next_events}} AS p
    WHERE {{may_be_replayed}}
    ORDER BY p.accept_seq
    LIMIT :limit
)
SELECT found.source, found.event_id, found.accept_seq, false AS is_end
FROM found
UNION ALL
SELECT '', '', slice.ends_at, true
FROM (SELECT max(p.accept_seq) AS ends_at FROM {{next_events}} AS p) AS slice
WHERE (SELECT count(*) FROM found) < :limit
    AND slice.ends_at IS NOT NULL
ORDER BY accept_seq, is_end
