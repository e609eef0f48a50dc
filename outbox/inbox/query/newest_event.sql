-- What is accepted later is not part of what begins now.
SELECT COALESCE(max(p.accept_seq), 0)
FROM hooklatch.processed_events AS p
