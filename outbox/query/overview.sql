SELECT
    (SELECT jsonb_object_agg(outcome, n) FROM (
        SELECT outcome, count(*) AS n FROM hooklatch.processed_events GROUP BY outcome
    ) AS counted) AS events,
    (SELECT jsonb_object_agg(state, n) FROM (
        SELECT state, count(*) AS n FROM hooklatch.effects GROUP BY state
    ) AS counted) AS effects,
    (SELECT min(received_at) FROM hooklatch.processed_events WHERE outcome = 'received') AS oldest_received,
    (SELECT min(next_attempt_at) FROM hooklatch.effects WHERE state IN ('pending', 'started', 'in_doubt') AND next_attempt_at <= now()) AS oldest_due,
    hooklatch.delivery_days_ahead() AS days_ahead,
    NOT {{at_home}} AS withheld
