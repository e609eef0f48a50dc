-- How many of the next events a replay would look at, and after which one the next call
-- goes on: 0 when there is none.
SELECT count(*) FILTER (WHERE {{may_be_replayed}}), COALESCE(max(p.accept_seq), 0)
FROM {{next_events}} AS p
