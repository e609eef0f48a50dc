-- Whether a transaction whose COMMIT answer was lost was committed all the same.
SELECT EXISTS (
    SELECT
    FROM hooklatch.effect_attempts
    WHERE scope = $1
        AND key = $2
        AND generation = $3
        AND claim_id = $4
        AND NOT lost
)
