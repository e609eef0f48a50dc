-- A text that is another one once this may no longer be the database it was: after a
-- standby was promoted or a backup restored, which begins a timeline, and after a
-- restart, which puts back what lies below it. Also after the table of events was made
-- anew, as a dump restored in place does, or emptied by TRUNCATE, and in a database that
-- was created anew from a template, which keeps the numbers of tables. An error on a
-- standby.
SELECT concat_ws(
    ' ',
    (SELECT system_identifier FROM pg_control_system()),
    left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), -- the timeline
    extract(epoch FROM pg_postmaster_start_time()),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    'hooklatch.processed_events'::regclass::oid,
    pg_relation_filenode('hooklatch.processed_events')
)
