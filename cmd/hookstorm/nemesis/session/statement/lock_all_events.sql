SELECT event_id
FROM hooklatch.processed_events
WHERE outcome = 'received'
ORDER BY source COLLATE "C" DESC, event_id COLLATE "C" DESC
LIMIT 10000
FOR UPDATE
