-- The exported days, newest first.
SELECT day, begun_at, parts, manifest, manifest_sha256, garbage, failed_since, error
FROM hooklatch.exported_days
ORDER BY day DESC
