SELECT s.query, sum(s.calls)::float8, sum(s.total_exec_time)::float8, sum(s.shared_blks_hit + s.shared_blks_read)::float8, sum(s.wal_bytes)::float8
FROM pg_stat_statements AS s
JOIN pg_database AS d ON d.oid = s.dbid
WHERE d.datname = current_database()
GROUP BY s.query
ORDER BY 3 DESC
