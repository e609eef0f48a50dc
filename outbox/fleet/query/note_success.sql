UPDATE hooklatch.destinations
SET succeeded_at = {{succeeded}}
WHERE name = :destination
