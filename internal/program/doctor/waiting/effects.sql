-- Lists effects that wait for an operator, by destination and state, with the newest effect's
-- reason. A request that could not be rendered is rendered again only by a replay of its event. The
-- query therefore lists the sources of these events, with the time of each source's oldest event.
WITH aside AS (
    SELECT e.destination, e.state, e.finished_at, e.error, e.maybe_applied_since, e.request_rendering = 'failed' AS unrendered, e.source, e.event_id
    FROM hooklatch.effects AS e
    WHERE e.state IN ('failed', 'parked')
), counted AS (
    SELECT
        destination, state, count(*) AS effects, count(maybe_applied_since) AS in_doubt, count(*) FILTER (WHERE unrendered) AS unrendered,
        min(finished_at) AS since, max(finished_at) AS latest
    FROM aside
    GROUP BY destination, state
), replays AS (
    SELECT a.destination, a.state, a.source, min(p.received_at) AS since
    FROM aside AS a
    JOIN hooklatch.processed_events AS p ON p.source = a.source AND p.event_id = a.event_id
    WHERE a.unrendered
    GROUP BY a.destination, a.state, a.source
)
SELECT
    c.destination, c.state, c.effects, c.in_doubt, c.unrendered, c.since, c.latest, newest.error,
    ARRAY (SELECT r.source FROM replays AS r WHERE r.destination = c.destination AND r.state = c.state ORDER BY r.source COLLATE "C") AS sources,
    ARRAY (SELECT r.since FROM replays AS r WHERE r.destination = c.destination AND r.state = c.state ORDER BY r.source COLLATE "C") AS sinces
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
