SELECT count(*) FILTER (WHERE e.ended), count(*) FILTER (WHERE NOT e.ended)
FROM (
    SELECT state IN ('done', 'failed', 'cancelled') AND COALESCE(finished_at, created_at) < :before AS ended
    FROM hooklatch.effects
    WHERE created_at < :before
) AS e
