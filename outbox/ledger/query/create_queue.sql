INSERT INTO hooklatch.river_queue (name, updated_at)
VALUES ($1, now())
ON CONFLICT (name) DO NOTHING
