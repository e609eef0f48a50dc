-- True if another configuration was announced more than :unused_seconds after the last announcement
-- of the known one. An outage of the database, in which no process can announce anything, does not
-- count. False if a process renews its announcement: it has run the configuration all the time.
(NOT :renewed::boolean AND EXISTS (
    SELECT
    FROM hooklatch.configurations AS other
    WHERE other.seen_at > known.seen_at + make_interval(secs => :unused_seconds::float8)
))
