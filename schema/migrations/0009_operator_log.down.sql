-- Locks event_replays for a moment, and rewrites nothing.
ALTER TABLE hooklatch.event_replays
    DROP COLUMN reason,
    DROP COLUMN previous_outcome,
    DROP COLUMN previous_error,
    DROP COLUMN previous_at;

DROP TABLE hooklatch.operator_log;
