-- Finds a cookie's active login, and whether its last use must be recorded.
SELECT l.name, l.role, l.way, l.token, l.basis, l.seen_at < now() - make_interval(secs => :touch_seconds::float8)
FROM hooklatch.console_logins AS l
WHERE l.hash = :hash
    AND l.seen_at > now() - make_interval(secs => :idle_seconds::float8)
    AND l.signed_in_at > now() - make_interval(secs => :longest_seconds::float8)
