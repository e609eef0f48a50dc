-- Locks: ACCESS EXCLUSIVE on backfill_runs, for the moment it takes to change its row in the
-- catalogue.
ALTER TABLE hooklatch.backfill_runs
    DROP COLUMN unlisted,
    DROP COLUMN unlisted_event;
