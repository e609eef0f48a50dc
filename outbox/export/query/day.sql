SELECT day, begun_at, parts, manifest, manifest_sha256, garbage, failed_since, error
FROM hooklatch.exported_days
WHERE day = :day
