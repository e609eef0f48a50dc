-- Until when the pass over a list may be at work: a list that is made due meanwhile is due
-- right after it.
--
-- Locks: ACCESS EXCLUSIVE on coverage, for the moment it takes to change its row in the
-- catalogue: the default of the new column is a constant.

ALTER TABLE hooklatch.coverage ADD COLUMN lease_until timestamptz NOT NULL DEFAULT '-infinity';

COMMENT ON COLUMN hooklatch.coverage.lease_until IS 'Until when the pass at work keeps the next one by schedule away. A next_at before it was set meanwhile: the next pass begins when this one has ended.';
