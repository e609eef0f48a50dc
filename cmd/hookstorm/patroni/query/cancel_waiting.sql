-- Cancels and counts the waits of sessions for the synchronous standby to confirm their COMMIT.
SELECT count(*) FILTER (WHERE pg_cancel_backend(pid))
  FROM pg_stat_activity
 WHERE backend_type = 'client backend'
   AND wait_event = 'SyncRep'
