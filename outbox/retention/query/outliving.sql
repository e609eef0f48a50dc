-- The stored effects that were created before the end of the day after a given day. The extra day
-- allows for a clock that was set back. began is true if an effect's running attempt began on the
-- given day.
SELECT e.effect_id, e.state = 'started' AND e.last_attempt_at >= :from AND e.last_attempt_at < :until AS began
FROM hooklatch.effects AS e
WHERE e.created_at < :until::timestamptz + interval '1 day'
    AND e.effect_id IS NOT NULL
