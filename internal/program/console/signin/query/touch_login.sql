-- Records the use of a login. Among concurrent requests, only one records it. The request waits for
-- the COMMIT, so the COMMIT does not wait for a disk or a standby.
WITH at_once AS (
    SELECT set_config('synchronous_commit', 'off', true)
)
UPDATE hooklatch.console_logins
SET seen_at = now()
FROM at_once
WHERE hash = :hash
    AND seen_at < now() - make_interval(secs => :touch_seconds::float8)
