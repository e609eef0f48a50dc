SELECT EXISTS (
    SELECT
    FROM pg_locks
    WHERE NOT granted
        AND $1 = ANY (pg_blocking_pids(pid))
)
