-- The destination's theoretical arrival time after :tokens more tokens. A stored time that is ahead by
-- more than 10 seconds plus the bursts of 64 callers is from before the clock was set back. It is
-- ignored.
make_interval(secs => :token_seconds::float8 * :tokens::integer) + CASE
    WHEN r.tat > clock_timestamp() + make_interval(secs => 10 + 64 * :token_seconds::float8 * :burst::integer) THEN clock_timestamp()
    ELSE GREATEST(r.tat, clock_timestamp())
END
