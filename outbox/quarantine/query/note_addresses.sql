INSERT INTO hooklatch.known_addresses (source, address)
SELECT a.source, a.address::cidr
FROM :addresses AS a (source text, address text)
GROUP BY a.source, a.address
ORDER BY a.source COLLATE "C", a.address COLLATE "C"
ON CONFLICT (source, address) DO UPDATE
SET accepted_at = EXCLUDED.accepted_at
