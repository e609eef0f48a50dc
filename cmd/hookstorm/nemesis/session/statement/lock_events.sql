SELECT 1
FROM hooklatch.processed_events
WHERE outcome = 'received'
ORDER BY source COLLATE "C" DESC, event_id COLLATE "C" DESC
LIMIT 1000
FOR UPDATE
