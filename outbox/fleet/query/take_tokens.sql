-- Advances the theoretical arrival time (tat) by :tokens, and returns the seconds until the caller
-- may use the tokens. If this wait is longer than :patience_seconds, nothing is taken. The
-- statement uses clock_timestamp(), not now(), because it may have waited for the row lock.
WITH taken AS (
    INSERT INTO hooklatch.destination_rates AS r (name, tat)
    VALUES (:destination, clock_timestamp() + make_interval(secs => :token_seconds::float8 * :tokens::integer))
    ON CONFLICT (name) DO UPDATE
    SET tat = {{next_arrival}}
    WHERE {{next_arrival}} <= clock_timestamp() + make_interval(secs => :patience_seconds::float8 + :token_seconds::float8 * :burst::integer)
    RETURNING r.tat
), arrival AS (
    SELECT tat, true AS is_taken
    FROM taken
    UNION ALL
    SELECT {{next_arrival}} AS tat, false AS is_taken
    FROM hooklatch.destination_rates AS r
    WHERE r.name = :destination
        AND NOT EXISTS (SELECT FROM taken)
)
SELECT GREATEST(0, EXTRACT(EPOCH FROM tat - clock_timestamp())::float8 - :token_seconds::float8 * :burst::integer), is_taken
FROM arrival
