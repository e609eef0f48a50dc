-- Locks: ACCESS EXCLUSIVE on the tables, for the moment it takes to change their rows in
-- the catalogue. What was fetched stays, as if its webhook had brought it.
DROP TABLE hooklatch.redeliveries;
DROP TABLE hooklatch.backfill_runs;
DROP TABLE hooklatch.coverage;
ALTER TABLE hooklatch.workers DROP COLUMN accepts;
ALTER TABLE hooklatch.processed_events
    DROP COLUMN origin,
    DROP COLUMN altered;
