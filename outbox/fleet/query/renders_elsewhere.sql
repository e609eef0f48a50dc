-- True if a running process that serves the destination has a newer configuration, with other
-- routes for the source.
SELECT EXISTS (
    SELECT
    FROM hooklatch.workers AS w
    WHERE w.configuration > :configuration::bigint
        AND w.seen_at > now() - make_interval(secs => :seen_seconds::float8)
        AND w.dispatches
        AND w.routes <> :routes
        AND w.destinations @> ARRAY[:destination::text]
        AND w.sources && ARRAY[:source::text, '*']
)
