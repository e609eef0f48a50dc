SELECT count(DISTINCT xmin::text)
FROM hooklatch.processed_events
WHERE accept_seq > $1
