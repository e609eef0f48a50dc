SELECT count(*), 0
FROM hooklatch.object_versions
WHERE applied_at < :before
