-- Forgets what was counted too long ago.
DELETE FROM hooklatch.last_seen AS s
WHERE s.seen_at < now() - make_interval(secs => :kept_seconds)
