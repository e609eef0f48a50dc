-- Lists active logins, most recently used first.
SELECT l.name, l.role, l.way, l.signed_in_at, l.seen_at
FROM hooklatch.console_logins AS l
WHERE l.seen_at > now() - make_interval(secs => :idle_seconds::float8)
    AND l.signed_in_at > now() - make_interval(secs => :longest_seconds::float8)
ORDER BY l.seen_at DESC
