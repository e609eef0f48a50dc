UPDATE hooklatch.destinations
SET succeeded_at = GREATEST(succeeded_at, clock_timestamp() - make_interval(secs => :ago_seconds::float8))
WHERE name = :destination
