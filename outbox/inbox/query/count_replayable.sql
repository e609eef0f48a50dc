-- How many events a replay would look at, and the newest of them: what is
-- accepted later is not replayed.
SELECT count(*), COALESCE(max(p.accept_seq), 0)
FROM hooklatch.processed_events AS p
WHERE {{may_be_replayed}}
