-- The number of effects that need attention, by destination and state.
SELECT found.destination, found.state, found.effects, found.since, found.at_least
FROM {{aside}} AS found
