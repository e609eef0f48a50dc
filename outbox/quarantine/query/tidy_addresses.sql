-- Deletes addresses without an accepted delivery in the last 30 days, and all except the
-- :addresses_of_source most recent addresses of each source.
WITH ranked AS (
    SELECT source, address, accepted_at, row_number() OVER (PARTITION BY source ORDER BY accepted_at DESC, address) AS place
    FROM hooklatch.known_addresses
)
DELETE FROM hooklatch.known_addresses AS k
USING ranked AS r
WHERE k.source = r.source
    AND k.address = r.address
    AND (r.place > :addresses_of_source OR r.accepted_at <= now() - interval '30 days')
