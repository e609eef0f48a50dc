ALTER TABLE hooklatch.effect_attempts
    DROP COLUMN key_rotation,
    DROP COLUMN claim_id;
DROP TABLE hooklatch.object_versions;
CREATE INDEX processed_events_undispatched ON hooklatch.processed_events (received_at) WHERE outcome = 'received';
DROP INDEX hooklatch.processed_events_undispatched_of;
DROP INDEX hooklatch.effects_order;
ALTER TABLE hooklatch.effects
    DROP CONSTRAINT pending_has_no_doubt,
    DROP COLUMN reopened_at,
    DROP COLUMN request_rendering,
    DROP COLUMN key_rotations,
    DROP COLUMN superseded_by,
    DROP COLUMN occurred_at,
    DROP COLUMN latest_key,
    DROP COLUMN on_park,
    DROP COLUMN order_key;
