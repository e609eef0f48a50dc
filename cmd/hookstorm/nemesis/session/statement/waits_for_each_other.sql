SELECT EXISTS (
    SELECT
    FROM unnest(pg_blocking_pids($1)) AS blocker (pid)
    WHERE $1 = ANY (pg_blocking_pids(blocker.pid))
)
