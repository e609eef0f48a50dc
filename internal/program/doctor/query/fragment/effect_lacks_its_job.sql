-- True if effect e is unfinished and should have a job, but no live job will attempt or settle it.
-- Statements that use this fragment add a minimum age.
e.state IN ('pending', 'started', 'in_doubt')
    -- In an order, only the first effect and a started effect have jobs.
    AND (e.order_key = '' OR e.state = 'started' OR NOT {{behind_in_order}})
    AND NOT EXISTS (
        SELECT
        FROM hooklatch.river_job AS j
        WHERE j.kind = 'effect'
            AND {{is_live}}
            AND j.args ->> 'scope' = e.scope
            AND j.args ->> 'key' = e.key
            AND (j.args ->> 'generation')::integer = e.generation
    )
