-- Whether a transaction whose COMMIT answer was lost was committed.
SELECT EXISTS (
    SELECT
    FROM hooklatch.all_attempts
    WHERE scope = :scope
        AND key = :key
        AND generation = :generation
        AND claim_id = :claim_id
        AND NOT lost
)
