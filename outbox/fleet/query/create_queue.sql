INSERT INTO hooklatch.river_queue (name, updated_at)
VALUES (:name, now())
ON CONFLICT (name) DO NOTHING
