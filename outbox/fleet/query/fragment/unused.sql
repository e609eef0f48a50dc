-- Whether no process has run the known configuration for a while.
known.seen_at < now() - make_interval(secs => :unused_seconds::float8)
