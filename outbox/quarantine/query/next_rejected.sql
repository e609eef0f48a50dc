-- The next deliveries of a walk with all their columns, and the key with which secrets are sealed.
SELECT {{summary}}, r.headers, r.secrets, r.body, (SELECT hmac_key FROM hooklatch.quarantine_key)
FROM hooklatch.rejected_deliveries AS r
WHERE {{selected}}
    AND (:after_at::timestamptz IS NULL OR (r.rejected_at, r.rejection_id) > (:after_at, :after_id))
ORDER BY r.rejected_at, r.rejection_id
LIMIT :limit
