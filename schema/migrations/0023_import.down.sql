-- What was imported stays known. Locks the inbox exclusively while it reads all of it.
UPDATE hooklatch.processed_events SET outcome = 'skipped' WHERE outcome = 'imported';
ALTER TABLE hooklatch.processed_events
    DROP CONSTRAINT known_outcome,
    ADD CONSTRAINT known_outcome
        CHECK (outcome IN ('received', 'dispatched', 'skipped', 'failed', 'held', 'dropped')) NOT VALID;
COMMENT ON COLUMN hooklatch.processed_events.outcome IS NULL;
COMMENT ON COLUMN hooklatch.processed_events.payload_hash IS NULL;
