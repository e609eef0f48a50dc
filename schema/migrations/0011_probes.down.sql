ALTER TABLE hooklatch.destinations DROP COLUMN succeeded_at;
ALTER TABLE hooklatch.effects
    DROP COLUMN refused_since,
    DROP COLUMN uncounted_attempts;
