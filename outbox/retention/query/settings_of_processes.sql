-- What the configurations of running processes say. A clock that was set back makes
-- nobody run that is gone.
SELECT settings
FROM hooklatch.processes
WHERE seen_at BETWEEN now() - make_interval(secs => :seen_seconds::float8) AND now() + make_interval(secs => :seen_seconds)
