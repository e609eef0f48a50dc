-- A login is used. Of several requests at once one notes it.
UPDATE hooklatch.console_logins
SET seen_at = now()
WHERE hash = :hash
    AND seen_at < now() - make_interval(secs => :touch_seconds::float8)
