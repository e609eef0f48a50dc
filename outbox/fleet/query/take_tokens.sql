-- Advances the theoretical arrival time (tat) by :tokens, and returns the seconds until the tokens
-- conform. The statement uses clock_timestamp(), not now(), because it may have waited for the row
-- lock. A stored time that is ahead by more than 10 seconds plus the bursts of 64 callers is from
-- before the clock was set back. It is ignored.
INSERT INTO hooklatch.destination_rates AS r (name, tat)
VALUES (:destination, clock_timestamp() + make_interval(secs => :token_seconds::float8 * :tokens::integer))
ON CONFLICT (name) DO UPDATE
SET tat = make_interval(secs => :token_seconds::float8 * :tokens::integer) + CASE
    WHEN r.tat > clock_timestamp() + make_interval(secs => 10 + 64 * :token_seconds::float8 * :burst::integer) THEN clock_timestamp()
    ELSE GREATEST(r.tat, clock_timestamp())
END
RETURNING GREATEST(0, EXTRACT(EPOCH FROM r.tat - clock_timestamp())::float8 - :token_seconds::float8 * :burst::integer)
