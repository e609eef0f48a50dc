-- How much of the primary's WAL the server has replayed. A server that is no standby has replayed
-- what it has written.
SELECT
    pg_is_in_recovery() AS follows,
    pg_wal_lsn_diff(
        CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
        '0/0'
    )::bigint AS replayed,
    pg_last_xact_replay_timestamp() AS committed_at,
    s.system_id,
    s.timeline,
    pg_postmaster_start_time() AS started
FROM hooklatch.this_server() AS s;
