-- Returns the effect with a given wire key. The newest hours are searched first.
SELECT
    {{effect_columns}},
    e.request_body, e.state, e.lease_until, e.next_attempt_at
-- In a receiver's log, a rotated key has a number as its suffix.
FROM regexp_replace(:idempotency_key, '^(hl_[0-9a-f]{40})_[0-9]+$', '\1') AS asked (idempotency_key)
CROSS JOIN {{hours_of_effects}} AS made (hour)
CROSS JOIN LATERAL {{made_in_hour}} AS e
LIMIT 1
