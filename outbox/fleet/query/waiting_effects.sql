-- Counts unfinished effects by destination and route.
SELECT e.destination, e.route, count(*), min(e.created_at), count(*) FILTER (WHERE e.request_rendering = 'late')
FROM hooklatch.effects AS e
WHERE e.state IN ('pending', 'started', 'in_doubt')
GROUP BY e.destination, e.route
ORDER BY e.destination COLLATE "C", e.route COLLATE "C"
