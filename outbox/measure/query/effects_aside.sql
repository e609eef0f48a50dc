-- Effects that wait for a person.
SELECT found.destination, found.state, found.effects, found.since, found.at_least
FROM {{aside}} AS found
