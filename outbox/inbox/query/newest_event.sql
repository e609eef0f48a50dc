-- The position of the newest event. A run that starts now excludes events accepted later.
SELECT COALESCE(max(p.accept_seq), 0)
FROM hooklatch.processed_events AS p
