ALTER TABLE hooklatch.processed_events
    DROP COLUMN retry_reason,
    DROP COLUMN retry_number,
    DROP COLUMN replay_suspect;
DROP TABLE hooklatch.content_guards;
DROP TABLE hooklatch.replay_guards;
