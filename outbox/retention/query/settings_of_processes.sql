-- The settings of running processes. A clock that was set back does not revive a stopped
-- process.
SELECT settings
FROM hooklatch.processes
WHERE seen_at BETWEEN now() - make_interval(secs => :seen_seconds::float8) AND now() + make_interval(secs => :seen_seconds)
