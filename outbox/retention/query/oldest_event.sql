SELECT received_at
FROM hooklatch.processed_events
WHERE accept_seq > :after
ORDER BY accept_seq
LIMIT 1
