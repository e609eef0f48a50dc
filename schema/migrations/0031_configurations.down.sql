-- Locks: ACCESS EXCLUSIVE on workers while it is rewritten, which has one row for each
-- process.
DELETE FROM hooklatch.workers
WHERE NOT dispatches;

ALTER TABLE hooklatch.workers
    DROP COLUMN configuration,
    DROP COLUMN configured_at,
    DROP COLUMN routes,
    DROP COLUMN sources,
    DROP COLUMN handler_sources,
    DROP COLUMN dispatches;

ALTER TABLE hooklatch.workers SET UNLOGGED;

DROP TABLE hooklatch.configurations;
