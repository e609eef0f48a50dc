-- A text that changes whenever this might be a different database:
--
--   - after a standby was promoted or a backup restored, which begins a new timeline,
--   - after a restart, before which the files may have been put back to an earlier state,
--   - after the table of events was recreated, as by a dump restored in place, or truncated,
--   - in a database created anew from a template, which keeps the numbers of tables.
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
