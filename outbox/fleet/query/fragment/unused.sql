-- True if no process has run the known configuration for :unused_seconds. A process that renews its
-- announcement has run it all the time, even if an outage of the database kept it from saying so.
(NOT :renewed::boolean AND known.seen_at < now() - make_interval(secs => :unused_seconds::float8))
