-- Returns the position up to which a standby has replayed the primary's WAL, the time of the last
-- replayed commit, and the identity of the server. For a server that is not a standby, the position
-- is the one up to which the server has written.
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
