-- Unfinished effects by destination and state, and a flag for an incomplete count. At most :most
-- effects are read, in equal shares for all destinations, but at least :least for each.
WITH line AS MATERIALIZED (
    SELECT found.destination, found.in_orders
    FROM {{unfinished_destinations}} AS found
), share AS MATERIALIZED (
    SELECT GREATEST(:least::bigint, :most::bigint / GREATEST(count(*), 1)) AS rows
    FROM line
), counted AS (
    SELECT line.destination, read.pending, read.started, read.in_doubt, read.effects >= (SELECT share.rows FROM share) AS at_least
    FROM line
    CROSS JOIN LATERAL (
        SELECT
            count(*) AS effects,
            count(*) FILTER (WHERE e.state = 'pending') AS pending,
            count(*) FILTER (WHERE e.state = 'started') AS started,
            count(*) FILTER (WHERE e.state = 'in_doubt') AS in_doubt
        FROM {{unfinished_of}} AS e
    ) AS read
)
SELECT counted.destination, by_state.state, sum(by_state.effects)::bigint, NULL::timestamptz AS since, bool_or(counted.at_least)
FROM counted
CROSS JOIN LATERAL (
    VALUES ('pending', counted.pending), ('started', counted.started), ('in_doubt', counted.in_doubt)
) AS by_state (state, effects)
WHERE by_state.effects > 0
GROUP BY counted.destination, by_state.state
