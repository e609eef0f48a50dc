-- Effects that need attention.
SELECT found.destination, found.state, found.effects, found.since, found.at_least
FROM {{aside}} AS found
