-- True if another running process should render the source's requests to the destination. That
-- process dispatches events, has the source and serves the destination. Its configuration is newer
-- and has other routes, unless the asking process does not have the source: then any configuration
-- counts.
SELECT EXISTS (
    SELECT
    FROM hooklatch.workers AS w
    WHERE (NOT :has_source::boolean OR w.configuration > :configuration::bigint AND w.routes <> :routes)
        AND w.seen_at > now() - make_interval(secs => :seen_seconds::float8)
        AND w.dispatches
        AND w.destinations @> ARRAY[:destination::text]
        AND w.sources && ARRAY[:source::text, '*']
)
