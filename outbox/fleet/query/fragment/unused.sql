-- True if no process has run the known configuration for :unused_seconds.
known.seen_at < now() - make_interval(secs => :unused_seconds::float8)
