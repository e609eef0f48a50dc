-- Records the use of a login. Among concurrent requests, only one records it.
UPDATE hooklatch.console_logins
SET seen_at = now()
WHERE hash = :hash
    AND seen_at < now() - make_interval(secs => :touch_seconds::float8)
