-- Moves the theoretical arrival time on by n tokens and says how many seconds
-- lie before they conform. clock_timestamp() and not now(): the row lock may
-- have been waited for. A time further ahead than 64 callers and 10 seconds can
-- have moved it was made before somebody set the clock back, and does not count.
INSERT INTO hooklatch.destination_rates AS r (name, tat)
VALUES (:destination, clock_timestamp() + make_interval(secs => :token_seconds::float8 * :tokens::integer))
ON CONFLICT (name) DO UPDATE
SET tat = make_interval(secs => :token_seconds::float8 * :tokens::integer) + CASE
    WHEN r.tat > clock_timestamp() + make_interval(secs => 10 + 64 * :token_seconds::float8 * :burst::integer) THEN clock_timestamp()
    ELSE GREATEST(r.tat, clock_timestamp())
END
RETURNING GREATEST(0, EXTRACT(EPOCH FROM r.tat - clock_timestamp())::float8 - :token_seconds::float8 * :burst::integer)
