SELECT payload
FROM processed
WHERE source = $1
    AND event_id = $2
