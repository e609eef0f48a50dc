-- Counts the effects that only an operator can restart, by destination and state. Each count stops
-- at :most. The column since is the earliest finished_at of the counted effects, and at_least is
-- true if there may be more effects.
(
    WITH RECURSIVE kind AS (
        (
            SELECT e.destination, e.state
            FROM hooklatch.effects AS e
            WHERE e.state IN ('failed', 'parked')
            ORDER BY e.destination, e.state
            LIMIT 1
        )
        UNION ALL
        SELECT following.destination, following.state
        FROM kind
        CROSS JOIN LATERAL (
            SELECT e.destination, e.state
            FROM hooklatch.effects AS e
            WHERE (e.destination, e.state) > (kind.destination, kind.state)
                AND e.state IN ('failed', 'parked')
            ORDER BY e.destination, e.state
            LIMIT 1
        ) AS following
    )
    SELECT kind.destination, kind.state, aside.effects, aside.since, aside.effects >= :most AS at_least
    FROM kind
    CROSS JOIN LATERAL (
        SELECT count(*) AS effects, min(e.finished_at) AS since
        FROM (
            SELECT e.finished_at
            FROM hooklatch.effects AS e
            WHERE e.destination = ANY (ARRAY[kind.destination])
                AND e.state = kind.state
                AND e.state IN ('failed', 'parked')
            ORDER BY e.destination, e.state, e.finished_at
            LIMIT :most
        ) AS e
    ) AS aside
)
