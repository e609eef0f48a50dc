-- Begins a pass over a list, and raises its fence: writes of an older pass are refused from now on.
-- No row is returned if the provider asked for a pause, or, unless :ordered, if the list is not due
-- or another pass has its lease. The coverage of a new list begins now. A list also counts as due
-- if an earlier try of this statement, whose COMMIT response was lost, began its lease at
-- :tried_at.
INSERT INTO hooklatch.coverage AS c (source, stream, fence, lists_secs, next_at, lease_until)
VALUES (
    :source, :name, 1, :lists_secs, now() + make_interval(secs => :lease_secs::float8), now() + make_interval(secs => :lease_secs::float8)
)
ON CONFLICT (source, stream) DO UPDATE
SET
    fence = c.fence + 1,
    lists_secs = EXCLUDED.lists_secs,
    next_at = GREATEST(c.next_at, EXCLUDED.next_at),
    lease_until = EXCLUDED.lease_until
WHERE (:ordered OR GREATEST(c.next_at, c.lease_until) <= now() OR c.lease_until = :tried_at::timestamptz + make_interval(secs => :lease_secs::float8))
    AND c.retry_after <= now()
RETURNING now(), created_at, covered_until, deep_until, pass_until, page_token, mark, fence
