-- Keys of events that another system accepted: known, so that a delivery of one of them
-- is a duplicate, and nothing else.
--
-- Locks: processed_events exclusively, for the moment it takes to change the catalogue.
-- No row is read or written.

-- NOT VALID: the rows that are there passed the narrower constraint. Reading them
-- again would keep the inbox shut meanwhile.
ALTER TABLE hooklatch.processed_events
    DROP CONSTRAINT known_outcome,
    ADD CONSTRAINT known_outcome
        CHECK (outcome IN ('received', 'dispatched', 'skipped', 'failed', 'held', 'dropped', 'imported')) NOT VALID;

COMMENT ON COLUMN hooklatch.processed_events.outcome IS 'How far the event has come. imported: another system accepted it at received_at; there is no delivery and no job, and accept_seq is below 0.';
COMMENT ON COLUMN hooklatch.processed_events.payload_hash IS 'SHA-256 of the event''s part of the body; empty where that was never seen.';
