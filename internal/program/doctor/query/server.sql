SELECT
    current_setting('server_version') AS version,
    current_setting('server_version_num')::integer AS version_number,
    current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    -- reset_val is the default for the role and the database. Hooklatch's own sessions override it.
    (SELECT s.reset_val = 'on' FROM pg_settings AS s WHERE s.name = 'default_transaction_read_only') AS read_only,
    pg_is_in_recovery() AS in_recovery,
    current_setting('synchronous_standby_names') AS standby_names,
    (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))::integer AS sync_standbys,
    (SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'async' AND application_name NOT LIKE 'pg_%')::integer AS async_standbys,
    -- Without the rights of pg_read_all_stats, the role does not see the state of standbys.
    (SELECT count(*) FROM pg_stat_replication WHERE sync_state IS NULL)::integer AS hidden_standbys,
    current_setting('server_encoding') AS encoding,
    current_setting('max_connections')::integer AS max_connections,
    (SELECT COALESCE(sum(numbackends), 0) FROM pg_stat_database)::integer AS connections,
    COALESCE(extract(epoch FROM clock_timestamp() - oldest.since), 0)::float8 AS snapshot_seconds,
    COALESCE(oldest.who, '') AS snapshot_of,
    COALESCE(jobs.n_dead_tup, 0) AS dead_jobs,
    COALESCE(jobs.n_live_tup, 0) AS live_jobs,
    clock_timestamp() AS now
FROM (SELECT) AS once
LEFT JOIN (
    -- Backends with a snapshot and prepared transactions prevent the vacuum of deleted rows. A
    -- replication slot is found only if a backend shows its snapshot.
    SELECT held.since, held.who
    FROM (
        SELECT a.xact_start AS since, 'process ' || a.pid || ' (' || COALESCE(NULLIF(a.application_name, ''), a.backend_type) || ')' AS who
        FROM pg_stat_activity AS a
        WHERE a.backend_xmin IS NOT NULL
            AND a.backend_type <> 'autovacuum worker'
        UNION ALL
        SELECT p.prepared AS since, 'the prepared transaction ' || p.gid AS who
        FROM pg_prepared_xacts AS p
    ) AS held
    WHERE held.since IS NOT NULL
    ORDER BY held.since
    LIMIT 1
) AS oldest ON true
LEFT JOIN pg_stat_all_tables AS jobs ON jobs.relid = to_regclass('hooklatch.river_job')
