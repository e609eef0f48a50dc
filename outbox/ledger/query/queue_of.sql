SELECT queue, policy
FROM hooklatch.destinations
WHERE name = :destination
