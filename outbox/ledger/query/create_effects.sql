-- Creates the effects whose key is new, in key order, and links every event to its effects,
-- including effects that an earlier event created. An effect with a claim (lease_seconds above 0)
-- is created in the state started, and its first attempt is claimed as in claim.sql. If its
-- destination is paused, or has another queue than the plan, the effect is created in the state
-- pending instead.
WITH planned AS (
    SELECT
        e.*,
        -- The destination's current queue: the process that created the plan may have an older
        -- configuration.
        COALESCE(d.queue, e.planned_queue) AS queue,
        e.lease_seconds > 0 AND NOT COALESCE(d.operator_paused OR d.breaker_state <> 'closed' OR d.queue <> e.planned_queue, false) AS starts
    FROM :effects AS e (
        scope text, key text, generation integer, idempotency_key text, route text, destination text, planned_queue text, policy text,
        source text, event_id text, event_type text, accept_seq bigint, traceparent text,
        request_method text, request_url text, request_headers jsonb, request_type text, request_body bytea,
        order_key text, on_park text, latest_key text, occurred_at timestamptz, request_rendering text, parked text,
        claim_id uuid, lease_seconds float8, first_method text, first_url text, first_headers jsonb
    )
    LEFT JOIN hooklatch.destinations AS d ON d.name = e.destination
), created AS (
    INSERT INTO hooklatch.effects (
        scope, key, generation, idempotency_key, route, destination, queue, policy,
        source, event_id, event_type, accept_seq, traceparent,
        request_method, request_url, request_headers, request_type, request_body,
        order_key, on_park, latest_key, occurred_at, request_rendering, state, error, finished_at,
        attempt, claim_id, lease_until, first_attempt_at, last_attempt_at, claimed_at, job_id
    )
    SELECT
        scope, key, generation, idempotency_key, route, destination, queue, policy,
        source, event_id, event_type,
        -- An effect that an application enqueues in an order gets its position from the sequence of
        -- accepted events.
        CASE WHEN accept_seq IS NULL AND order_key <> '' THEN nextval('hooklatch.accept_seq') ELSE accept_seq END,
        traceparent,
        CASE WHEN starts AND request_method = '' THEN first_method ELSE request_method END,
        CASE WHEN starts AND request_url = '' THEN first_url ELSE request_url END,
        CASE WHEN starts THEN first_headers || request_headers ELSE request_headers END,
        request_type, request_body,
        order_key, on_park, latest_key, CASE WHEN latest_key <> '' THEN COALESCE(occurred_at, now()) ELSE occurred_at END, request_rendering,
        CASE WHEN starts THEN 'started' WHEN parked = '' THEN 'pending' ELSE 'parked' END, parked, CASE WHEN parked <> '' THEN now() END,
        CASE WHEN starts THEN 1 ELSE 0 END, CASE WHEN starts THEN claim_id END,
        CASE WHEN starts THEN now() + make_interval(secs => lease_seconds) END,
        CASE WHEN starts THEN now() END, CASE WHEN starts THEN now() END, CASE WHEN starts THEN clock_timestamp() END,
        -- The id of the job inserted later for the effect. The settlement finds the job by this id.
        CASE WHEN starts THEN nextval('hooklatch.river_job_id_seq') END
    FROM planned
    ORDER BY scope COLLATE "C", key COLLATE "C", generation
    -- As long as wire keys have a separate unique index, both indexes must arbitrate. A race on an
    -- index that does not arbitrate would be an error.
    ON CONFLICT DO NOTHING
    RETURNING scope, key, generation, queue, job_id, lease_until, last_attempt_at, next_attempt_at, created_at
), linked AS (
    INSERT INTO hooklatch.links (accept_seq, scope, key, generation, suppressed)
    SELECT DISTINCT ON (l.accept_seq, l.scope, l.key, l.generation)
        l.accept_seq, l.scope, l.key, l.generation,
        l.repeats OR (l.scope, l.key, l.generation) NOT IN (SELECT scope, key, generation FROM created) AS suppressed
    FROM :links AS l (accept_seq bigint, scope text, key text, generation integer, repeats boolean)
    ORDER BY l.accept_seq, l.scope, l.key, l.generation, suppressed
)
SELECT scope, key, generation, queue, job_id, lease_until, last_attempt_at, next_attempt_at, created_at
FROM created
