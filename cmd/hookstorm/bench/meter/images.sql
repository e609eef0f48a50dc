SELECT coalesce(sum(fpi_size), 0)::bigint
FROM pg_get_wal_stats($1::pg_lsn, $2::pg_lsn)
