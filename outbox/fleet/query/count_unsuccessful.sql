SELECT e.destination, e.state, count(*) AS n
FROM hooklatch.effects AS e
WHERE e.state IN ('failed', 'parked')
GROUP BY e.destination, e.state
