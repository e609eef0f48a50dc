-- Whether the effect e is unfinished and should have a job, but no live one will
-- attempt or settle it. Statements add for how long.
e.state IN ('pending', 'started', 'in_doubt')
    -- Of an order only the first has a job, and one that is at work.
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
