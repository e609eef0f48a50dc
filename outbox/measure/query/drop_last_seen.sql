-- Deletes the times of counts that have not increased for :kept_seconds.
DELETE FROM hooklatch.last_seen AS s
WHERE s.seen_at < now() - make_interval(secs => :kept_seconds)
