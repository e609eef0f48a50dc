-- Returns the position of the newest event, even if retention has deleted the event and only the
-- export contains it. A run that starts now excludes events accepted later.
SELECT GREATEST(
    (SELECT COALESCE(max(p.accept_seq), 0) FROM hooklatch.processed_events AS p),
    (SELECT COALESCE(max(r.accept_seq), 0) FROM hooklatch.retention_progress AS r WHERE r.what = 'events')
)
