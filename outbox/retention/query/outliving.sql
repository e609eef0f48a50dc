-- The effects that were made until a day after a day and are still there: clocks are
-- set back, but not by days. Whether the attempt that one of them is at began on it.
SELECT e.effect_id, e.state = 'started' AND e.last_attempt_at >= :from AND e.last_attempt_at < :until AS began
FROM hooklatch.effects AS e
WHERE e.created_at < :until::timestamptz + interval '1 day'
    AND e.effect_id IS NOT NULL
