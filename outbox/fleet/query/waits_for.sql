SELECT EXISTS (
    SELECT
    FROM hooklatch.effects AS e
    WHERE e.destination = :destination
        AND e.state IN ('pending', 'started', 'in_doubt')
)
