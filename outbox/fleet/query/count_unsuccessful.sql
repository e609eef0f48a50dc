-- Counts failed and parked effects by destination and state, as the gauges do.
SELECT found.destination, found.state, found.effects
FROM {{aside}} AS found
