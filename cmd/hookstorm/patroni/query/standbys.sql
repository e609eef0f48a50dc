-- Standbys that follow this primary, and how many of them are synchronous.
SELECT count(*), count(*) FILTER (WHERE sync_state = 'sync')
  FROM pg_stat_replication
 WHERE state = 'streaming'
