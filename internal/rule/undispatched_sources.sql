-- The sources of undispatched events, each with the queue of one such event. The statement takes
-- one step through the index for each source.
(
    WITH RECURSIVE undispatched AS (
        (
            SELECT p.source, p.queue
            FROM hooklatch.processed_events AS p
            WHERE p.outcome = 'received'
            ORDER BY p.source
            LIMIT 1
        )
        UNION ALL
        SELECT following.source, following.queue
        FROM undispatched
        CROSS JOIN LATERAL (
            SELECT p.source, p.queue
            FROM hooklatch.processed_events AS p
            WHERE p.source > undispatched.source
                AND p.outcome = 'received'
            ORDER BY p.source
            LIMIT 1
        ) AS following
    )
    SELECT undispatched.source, undispatched.queue
    FROM undispatched
)
