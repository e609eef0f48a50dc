-- True if event p is undispatched, but no live job will dispatch it. Statements that use this
-- fragment add a minimum age.
p.outcome = 'received'
    AND NOT EXISTS (
        SELECT
        FROM hooklatch.river_job AS j
        WHERE j.kind = 'dispatch'
            AND {{is_live}}
            AND j.args ->> 'source' = p.source
            AND j.args ->> 'event_id' = p.event_id
    )
