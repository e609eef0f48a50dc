SELECT
    {{effect_columns}},
    e.request_body, e.state, e.lease_until, e.next_attempt_at
FROM hooklatch.effects AS e
-- A rotated key, as a receiver logs it, is the key and a number.
WHERE e.idempotency_key = regexp_replace(:idempotency_key, '^(hl_[0-9a-f]{40})_[0-9]+$', '\1')
