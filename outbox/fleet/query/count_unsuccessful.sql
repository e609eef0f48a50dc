-- Effects that wait for a person, as the gauges have them.
SELECT found.destination, found.state, found.effects
FROM {{aside}} AS found
