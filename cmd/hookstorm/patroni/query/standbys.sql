-- Counts the standbys that follow this primary, and the synchronous ones among them.
SELECT count(*), count(*) FILTER (WHERE sync_state = 'sync')
  FROM pg_stat_replication
 WHERE state = 'streaming'
