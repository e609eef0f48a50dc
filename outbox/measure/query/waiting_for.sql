-- How many effects wait for a destination, up to :most, and since when the first of them
-- has been due. Of those in orders the one that is due for longest is not looked for.
SELECT
    (
        SELECT count(*)
        FROM (
            (
                SELECT
                FROM hooklatch.effects AS e
                WHERE e.destination = ANY (ARRAY[:destination::text])
                    AND e.order_key = ''
                    AND e.state IN ('pending', 'started', 'in_doubt')
                ORDER BY e.destination, e.next_attempt_at
                LIMIT :most
            )
            UNION ALL
            (
                SELECT
                FROM hooklatch.effects AS e
                WHERE e.destination = ANY (ARRAY[:destination::text])
                    AND e.order_key <> ''
                    AND e.state IN ('pending', 'started', 'in_doubt')
                ORDER BY e.destination, e.scope, e.order_key
                LIMIT :most
            )
            LIMIT :most
        ) AS e
    ),
    (
        SELECT e.next_attempt_at
        FROM hooklatch.effects AS e
        WHERE e.destination = ANY (ARRAY[:destination::text])
            AND e.order_key = ''
            AND e.state IN ('pending', 'started', 'in_doubt')
            AND e.next_attempt_at <= now()
        ORDER BY e.destination, e.next_attempt_at
        LIMIT 1
    )
