-- Returns the secret of this installation. With a shared memory, it becomes part of the name of the
-- database's life.
SELECT hmac_key
FROM hooklatch.quarantine_key
