-- The secret of this installation, which becomes part of the name of the database's life.
SELECT hmac_key
FROM hooklatch.quarantine_key
