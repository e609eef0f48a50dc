-- Deletes expired logins, a limited number at a time. A login past its maximum age is no longer
-- used, so it soon exceeds the idle time too.
DELETE FROM hooklatch.console_logins
WHERE hash = ANY (ARRAY(
    SELECT l.hash
    FROM hooklatch.console_logins AS l
    WHERE l.seen_at < now() - make_interval(secs => :idle_seconds::float8)
    ORDER BY l.seen_at
    LIMIT :limit
))
