SELECT count(*), 0
FROM hooklatch.content_guards
WHERE expires_at < :before
