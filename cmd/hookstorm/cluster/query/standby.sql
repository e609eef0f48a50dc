SELECT EXISTS (
    SELECT
    FROM pg_stat_replication
    WHERE application_name = $1
        AND state = 'streaming'
        AND $2 IN (state, sync_state)
        AND flush_lsn >= $3::text::pg_lsn
)
