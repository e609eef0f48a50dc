-- True if workers run, but none of them processes events of waits.source. Workers of a version
-- that announces no configuration (0) process every event.
EXISTS (
    SELECT
    FROM hooklatch.workers AS w
    WHERE w.dispatches
        AND w.seen_at > now() - make_interval(secs => :worker_seconds::float8)
) AND NOT EXISTS (
    SELECT
    FROM hooklatch.workers AS w
    WHERE w.dispatches
        AND w.seen_at > now() - make_interval(secs => :worker_seconds::float8)
        AND (w.configuration = 0 OR ARRAY[waits.source, '*'] && (w.sources || w.handler_sources))
)
