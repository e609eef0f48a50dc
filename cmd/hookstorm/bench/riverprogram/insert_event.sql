INSERT INTO processed (source, event_id, event_type, payload)
VALUES ($1, $2, $3, $4)
ON CONFLICT (source, event_id) DO NOTHING
