-- Kept deliveries and what retention knows go with their tables: drop_day and the
-- functions beside it are not needed by what an older program does.
DROP INDEX IF EXISTS hooklatch.processed_events_put_aside;
DROP INDEX IF EXISTS hooklatch.effects_put_aside;
DROP INDEX hooklatch.event_replays_requested_at;
DROP FUNCTION hooklatch.thin_day(text, date, bigint[]);
DROP FUNCTION hooklatch.keep_deliveries(date, bigint[]);
DROP FUNCTION hooklatch.drop_day(text, date);
DROP FUNCTION hooklatch.detach_day(text, date);
DROP FUNCTION hooklatch.past_day(text, date);
ALTER FUNCTION hooklatch.make_delivery_partitions(integer) SECURITY INVOKER;
ALTER FUNCTION hooklatch.make_delivery_partitions(integer) RESET search_path;
ALTER TABLE hooklatch.processed_events RESET (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor);
DROP TABLE hooklatch.processes;
DROP TABLE hooklatch.retention_progress;
DROP TABLE hooklatch.events_kept;
DROP TABLE hooklatch.deliveries_kept;
