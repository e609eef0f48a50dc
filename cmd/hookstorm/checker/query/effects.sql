-- Every effect, with the hash and size of its request body.
SELECT row_to_json(r)::text
FROM (
    SELECT
        scope, key, generation, idempotency_key, route, destination, policy, source, event_id, accept_seq, state, attempt, lease_until,
        next_attempt_at, created_at, first_attempt_at, last_attempt_at, maybe_applied_since, finished_at, reopened_at, response_status,
        error, order_key, latest_key, on_park, occurred_at, superseded_by, key_rotations, uncounted_attempts, request_rendering,
        erased_at,
        encode(sha256(request_body), 'hex') AS request_hash, octet_length(request_body) AS request_size
    FROM hooklatch.effects
) AS r
