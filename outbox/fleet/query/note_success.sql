UPDATE hooklatch.destinations
SET succeeded_at = GREATEST(LEAST(succeeded_at, clock_timestamp()), clock_timestamp() - make_interval(secs => :ago_seconds::float8))
WHERE name = :destination
