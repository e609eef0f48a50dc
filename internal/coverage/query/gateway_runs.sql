-- Reports whether a process that accepts deliveries was seen in the last :gone_after_secs seconds.
SELECT EXISTS (
    SELECT
    FROM hooklatch.workers
    WHERE (accepts OR NOT dispatches)
        AND seen_at > now() - make_interval(secs => :gone_after_secs::float8)
)
