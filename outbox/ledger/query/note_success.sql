UPDATE hooklatch.destinations
SET succeeded_at = GREATEST(succeeded_at, clock_timestamp() - make_interval(secs => $2::float8))
WHERE name = $1
