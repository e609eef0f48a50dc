-- Returns the state with which a pass would begin. The coverage of an unread list begins now. No
-- row is returned if the provider asked for a pause.
SELECT now(), COALESCE(c.created_at, now()), COALESCE(c.covered_until, now()), COALESCE(c.deep_until, now()), NULL::timestamptz, '', COALESCE(c.mark, '')
FROM (SELECT) AS one
LEFT JOIN hooklatch.coverage AS c
    ON c.source = :source
    AND c.stream = :name
WHERE COALESCE(c.retry_after <= now(), TRUE)
