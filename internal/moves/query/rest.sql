-- Returns the last, small part of the data that the other cell must have: coverage of the
-- provider's lists, redeliveries that have not ended, sender keys and known addresses.
SELECT jsonb_build_object(
    'coverage', (SELECT COALESCE(jsonb_agg(c), '[]') FROM hooklatch.coverage AS c WHERE c.source = :source),
    'redeliveries', (SELECT COALESCE(jsonb_agg(r), '[]') FROM hooklatch.redeliveries AS r WHERE r.source = :source AND r.ended_at IS NULL),
    'sender_keys', (SELECT COALESCE(jsonb_agg(k), '[]') FROM hooklatch.sender_keys AS k WHERE k.source = :source),
    'known_addresses', (SELECT COALESCE(jsonb_agg(a), '[]') FROM hooklatch.known_addresses AS a WHERE a.source = :source)
)::text
