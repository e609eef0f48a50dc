-- True if processes have run other configurations for :unused_seconds, and none the known one. An
-- outage of the database, in which no process can announce anything, does not count. A process that
-- renews its announcement has run its configuration all the time.
(NOT :renewed::boolean AND EXISTS (
    SELECT
    FROM hooklatch.configurations AS other
    WHERE other.seen_at > known.seen_at + make_interval(secs => :unused_seconds::float8)
))
