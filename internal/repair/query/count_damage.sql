-- Counts the Hooklatch jobs that River gave up, and the attempts that outlived their leases.
SELECT
    (
        SELECT count(*)
        FROM hooklatch.river_job AS j
        WHERE j.state = 'discarded'
            AND j.kind IN ('dispatch', 'effect')
    ) AS discarded,
    (
        SELECT count(*)
        FROM hooklatch.effects AS e
        WHERE e.state IN ('pending', 'started', 'in_doubt') -- matches the predicate of an index
            AND e.state = 'started'
            AND {{lease_over}}
    ) AS expired
