-- The running processes.
SELECT p.name, p.kind, p.version, p.config_hash, p.seen_at
FROM hooklatch.processes AS p
WHERE p.seen_at > now() - make_interval(secs => :seen_seconds::float8)
ORDER BY p.kind, p.name
