-- Effects that need attention, as counted by the gauges.
SELECT found.destination, found.state, found.effects
FROM {{aside}} AS found
