-- Lists the running processes whose configuration is newer than :configuration, with their sources.
-- Usually no such process exists, and one index look-up shows that. A gateway counts only for a
-- limited time, until workers with its configuration should be running. The time begins when the
-- configuration began, or when a worker with it was last seen: the worker may be restarting.
(
    SELECT w.configuration, w.dispatches, w.routes, w.sources, w.handler_sources
    FROM hooklatch.workers AS w
    WHERE w.configuration > :configuration::bigint
        AND w.seen_at > now() - make_interval(secs => :seen_seconds::float8)
        AND (
            w.dispatches
            OR w.configured_at > now() - make_interval(secs => :patience_seconds::float8)
            OR EXISTS (
                SELECT
                FROM hooklatch.configurations AS c
                WHERE c.number = w.configuration
                    AND c.dispatched_at > now() - make_interval(secs => :patience_seconds::float8)
            )
        )
)
