-- Events that a replay guard keeps back, and what a guard knows of a proof.
--
-- Locks: both tables exclusively, for the moment it takes to change the catalog.
-- No row is read or written.

-- NOT VALID: the rows that are there passed the narrower constraint. Reading them
-- again would keep the inbox shut meanwhile.
ALTER TABLE hooklatch.processed_events
    DROP CONSTRAINT known_outcome,
    ADD CONSTRAINT known_outcome
        CHECK (outcome IN ('received', 'dispatched', 'skipped', 'failed', 'held', 'dropped')) NOT VALID;

ALTER TABLE hooklatch.replay_guards
    ADD COLUMN content bytea,
    ADD COLUMN last_seen_at timestamptz NOT NULL DEFAULT now();

COMMENT ON COLUMN hooklatch.replay_guards.content IS 'SHA-256 of what came with the proof first; NULL when it was not remembered. Under other content a proof is a forgery.';
COMMENT ON COLUMN hooklatch.replay_guards.last_seen_at IS 'When a delivery came with the proof last. A guard may go when this is older than the dedup retention of its source: then no event it guards is remembered either.';
