-- Lists running processes that have announced a configuration, newest configuration first.
SELECT w.id, w.configuration, w.configured_at, w.dispatches, w.routes, w.sources || w.handler_sources AS sources
FROM hooklatch.workers AS w
WHERE w.seen_at > now() - make_interval(secs => :worker_seconds::float8)
    AND w.configuration > 0
ORDER BY w.configuration DESC, w.id COLLATE "C"
