SELECT source, address
FROM hooklatch.known_addresses
WHERE accepted_at > now() - interval '30 days'
