-- Records the use of a login. Of several concurrent requests only one does.
UPDATE hooklatch.console_logins
SET seen_at = now()
WHERE hash = :hash
    AND seen_at < now() - make_interval(secs => :touch_seconds::float8)
