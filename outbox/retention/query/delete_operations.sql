-- What people ordered.
DELETE FROM hooklatch.operator_log
WHERE id = ANY (ARRAY(
    SELECT id
    FROM hooklatch.operator_log
    WHERE at < :before
    ORDER BY at, id
    LIMIT :look
))
