-- The events that effects need. Every effect that has not ended needs its event. An effect that
-- ended without success and sends its delivery when it is tried again also needs its event. An
-- effect that sends its delivery needs the payload too. Effects that an application enqueued are
-- left out: their accept_seq is only a number for their order, and they have no event.
SELECT n.accept_seq, bool_or(n.payload) AS payload
FROM (
    SELECT e.accept_seq, e.request_body IS NULL AS payload
    FROM hooklatch.effects AS e
    WHERE e.state IN ('pending', 'started', 'in_doubt')
        AND e.accept_seq IS NOT NULL
        AND e.source <> ''
    UNION ALL
    SELECT e.accept_seq, e.request_body IS NULL
    FROM hooklatch.effects AS e
    WHERE e.accept_seq IS NOT NULL AND e.source <> '' AND (e.state = 'parked' OR e.state IN ('failed', 'cancelled') AND e.request_body IS NULL)
) AS n
GROUP BY n.accept_seq
ORDER BY n.accept_seq
