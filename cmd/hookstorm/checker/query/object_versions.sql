-- The newest applied effect of every latest_by object.
SELECT row_to_json(r)::text
FROM (
    SELECT scope, latest_key, occurred_at, accept_seq, idempotency_key, applied_at
    FROM hooklatch.object_versions
) AS r
