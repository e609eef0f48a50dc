-- Moves the theoretical arrival time on by n tokens and says how many seconds
-- lie before they conform. clock_timestamp() and not now(): the row lock may
-- have been waited for.
INSERT INTO hooklatch.destination_rates AS r (name, tat)
VALUES ($1, clock_timestamp() + make_interval(secs => $2::float8 * $4::integer))
ON CONFLICT (name) DO UPDATE
SET tat = GREATEST(r.tat, clock_timestamp()) + make_interval(secs => $2::float8 * $4::integer)
RETURNING GREATEST(0, EXTRACT(EPOCH FROM r.tat - clock_timestamp())::float8 - $2::float8 * $3::integer)
