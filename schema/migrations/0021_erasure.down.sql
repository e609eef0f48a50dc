-- Locks processed_events and effects exclusively, for the moment it takes to change the
-- catalogue. What was erased stays erased, and nothing says so any more but its error.
DROP FUNCTION hooklatch.erase_event(text, text, text, boolean);
DROP FUNCTION hooklatch.erase_effect(text, text, integer, text);
DROP FUNCTION hooklatch.empty_delivery(uuid, timestamptz, text);
DROP FUNCTION hooklatch.blot_delivery(uuid, timestamptz, bytea, integer[], integer[], text);
DROP FUNCTION hooklatch.lock_delivery(uuid);
DROP FUNCTION hooklatch.forget_rejected(text, bytea);
DROP FUNCTION hooklatch.events_of_delivery(uuid, timestamptz, bigint);
DROP FUNCTION hooklatch.stored_delivery(uuid, timestamptz);
DROP FUNCTION hooklatch.refuse_while_days_leave(text[], timestamptz, timestamptz);
DROP TABLE hooklatch.redaction_waiting;
DROP TABLE hooklatch.redaction_progress;
ALTER TABLE hooklatch.effects
    DROP COLUMN erased_at;
ALTER TABLE hooklatch.processed_events
    DROP COLUMN redacted_at,
    DROP COLUMN erased_at;
