-- Returns a text that changes whenever the database may have been replaced or set back:
--
--   - after a standby was promoted or a backup restored, which begins a new timeline,
--   - after a restart, because an operator may have replaced the files while the server was down,
--   - after the table of events was truncated, or recreated when a dump was restored in place,
--   - in a database created anew from a template, whose tables keep their OIDs.
--
-- Fails on a standby.
SELECT concat_ws(
    ' ',
    (SELECT system_identifier FROM pg_control_system()),
    left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), -- the timeline
    extract(epoch FROM pg_postmaster_start_time()),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    'hooklatch.processed_events'::regclass::oid,
    pg_relation_filenode('hooklatch.processed_events')
)
