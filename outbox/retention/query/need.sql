-- The events that effects need: of those that have not ended all, of those that ended
-- without success the ones that send their delivery when they are tried again. Who
-- sends its delivery needs the payload too. An effect that an application enqueued has a
-- number for its order, and no event.
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
