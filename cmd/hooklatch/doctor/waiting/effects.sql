-- What is set aside for people, by destination and state, and why the newest was.
WITH aside AS (
    SELECT e.destination, e.state, e.finished_at, e.error, e.maybe_applied_since
    FROM hooklatch.effects AS e
    WHERE e.state IN ('failed', 'parked')
), counted AS (
    SELECT destination, state, count(*) AS effects, count(maybe_applied_since) AS in_doubt, min(finished_at) AS since, max(finished_at) AS latest
    FROM aside
    GROUP BY destination, state
)
SELECT c.destination, c.state, c.effects, c.in_doubt, c.since, c.latest, newest.error
FROM counted AS c
CROSS JOIN LATERAL (
    SELECT a.error
    FROM aside AS a
    WHERE a.destination = c.destination
        AND a.state = c.state
        AND a.finished_at = c.latest
    LIMIT 1
) AS newest
ORDER BY c.destination COLLATE "C", c.state
