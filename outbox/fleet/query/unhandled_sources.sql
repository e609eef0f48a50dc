-- Returns the given sources for which no running process has handlers, and which no running process
-- with a newer configuration has.
SELECT given.source
FROM unnest(:sources::text[]) AS given (source)
WHERE NOT EXISTS (
    SELECT
    FROM hooklatch.workers AS w
    WHERE w.seen_at > now() - make_interval(secs => :seen_seconds::float8)
        AND (
            w.handler_sources && ARRAY[given.source, '*']
            OR w.configuration > :configuration::bigint AND w.sources && ARRAY[given.source, '*']
        )
)
