-- What was held stays undispatched, where a person sees it. Locks the inbox
-- exclusively while it reads all of it.
UPDATE hooklatch.processed_events
SET
    outcome = 'failed',
    processed_at = now(),
    error = 'held by a replay guard'
WHERE outcome = 'held';
UPDATE hooklatch.processed_events SET outcome = 'skipped' WHERE outcome = 'dropped';
ALTER TABLE hooklatch.processed_events
    DROP CONSTRAINT known_outcome,
    ADD CONSTRAINT known_outcome CHECK (outcome IN ('received', 'dispatched', 'skipped', 'failed'));

ALTER TABLE hooklatch.replay_guards
    DROP COLUMN last_seen_at,
    DROP COLUMN content;
