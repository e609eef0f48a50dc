-- Returns the primary's time, its position in the WAL, and the identity of the server.
SELECT
    now() AS now,
    pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS written,
    s.system_id,
    s.timeline,
    pg_postmaster_start_time() AS started
FROM hooklatch.this_server() AS s;
