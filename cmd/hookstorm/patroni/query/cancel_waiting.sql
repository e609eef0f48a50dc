-- Cancels each session that waits for the synchronous standby to confirm its COMMIT, and counts
-- them.
SELECT count(*) FILTER (WHERE pg_cancel_backend(pid))
  FROM pg_stat_activity
 WHERE backend_type = 'client backend'
   AND wait_event = 'SyncRep'
