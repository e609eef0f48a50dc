SELECT EXISTS (
    SELECT
    FROM hooklatch.effects AS e
    WHERE e.destination = $1
        AND e.state IN ('pending', 'started', 'in_doubt')
)
