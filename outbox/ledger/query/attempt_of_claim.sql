-- Checks whether the attempt of a claim is recorded. A recorded attempt shows that the claim's
-- transaction was committed, although the response to its COMMIT was lost.
SELECT EXISTS (
    SELECT
    FROM hooklatch.all_attempts
    WHERE scope = :scope
        AND key = :key
        AND generation = :generation
        AND claim_id = :claim_id
        AND NOT lost
)
