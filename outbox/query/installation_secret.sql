-- A secret of this installation.
SELECT hmac_key
FROM hooklatch.quarantine_key
