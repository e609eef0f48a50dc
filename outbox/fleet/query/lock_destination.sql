SELECT name
FROM hooklatch.destinations
WHERE name = :destination
FOR UPDATE
