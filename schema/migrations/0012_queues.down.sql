COMMENT ON COLUMN hooklatch.destinations.queue IS NULL;
ALTER TABLE hooklatch.destinations
    DROP COLUMN served_at;
DROP TABLE hooklatch.workers;
