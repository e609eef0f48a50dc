-- T3, first half: grants each effect that may be attempted to the claiming job, in key order. An
-- effect whose attempt outlived its lease is in doubt. It is tried again under at_least_once and
-- parked under at_most_once; a trigger records this. An effect in doubt for longer than key_ttl is
-- parked. An ordered effect first gets only the verdict to check its order. Until an operator
-- confirms a restored or promoted server, no at_most_once effect starts.
WITH asked AS (
    SELECT a.*
    FROM :asked AS a (
        scope text, key text, generation integer, asked_by uuid, lease_seconds float8, asked_job bigint,
        first_method text, first_url text, first_headers jsonb, key_ttl_seconds float8, is_probe boolean, has_turn boolean
    )
    ORDER BY a.scope COLLATE "C", a.key COLLATE "C", a.generation
), locked AS (
    SELECT
        asked.scope, asked.key, asked.generation, e.policy,
        -- These columns are selected here, because a second join with asked would compare each row
        -- with all others.
        asked.asked_by, asked.lease_seconds, asked.asked_job, asked.first_method, asked.first_url, asked.first_headers, asked.is_probe,
        -- Values read under the lock may be newer than the snapshot.
        e.state AS now_state, e.lease_until AS now_lease_until, e.next_attempt_at AS now_next_attempt_at,
        e.state = 'started' AND e.claim_id = asked.asked_by AS repeated,
        e.state = 'started' AND e.claim_id <> asked.asked_by AND {{lease_over}} AS lost,
        e.state IN ('pending', 'in_doubt') AND e.next_attempt_at <= now() AS due,
        e.order_key <> '' AND NOT asked.has_turn AS wants_turn,
        -- An attempt whose request was never rendered has not called the receiver.
        e.request_rendering = 'late' AS unsent,
        asked.key_ttl_seconds > 0 AND now() >= make_interval(secs => asked.key_ttl_seconds) + GREATEST(
            e.reopened_at,
            COALESCE(
                e.maybe_applied_since,
                CASE WHEN e.state = 'started' AND e.request_rendering <> 'late' THEN {{began}} END,
                CASE WHEN past.unsure THEN (SELECT i.restored_to FROM hooklatch.installation AS i) END
            )
        ) AND (e.maybe_applied_since IS NOT NULL OR (e.state = 'started' AND e.request_rendering <> 'late') OR past.unsure) AS expired,
        -- Another effect of the destination succeeded after this effect had failed, or during its
        -- current run of unauthorized responses.
        COALESCE(d.succeeded_at > GREATEST(COALESCE(e.refused_since, e.last_attempt_at), e.reopened_at), false) AS own_fault,
        COALESCE(d.operator_paused OR (d.breaker_state <> 'closed' AND NOT asked.is_probe), false) AS paused,
        e.policy = 'at_most_once' AND NOT (SELECT {{at_home}}) AS withheld, -- evaluated only for at_most_once
        past.unsure
    FROM asked
    -- Each effect is a separate look-up, whatever the statistics say. The body is not among the
    -- columns, because the updates below would read all of it.
    CROSS JOIN LATERAL (
        SELECT
            e.destination, e.route, e.policy, e.source, e.event_id, e.accept_seq, e.order_key, e.request_rendering, e.state, e.claim_id, e.lease_until,
            e.next_attempt_at, e.created_at, e.last_attempt_at, e.reopened_at, e.refused_since, e.maybe_applied_since
        FROM hooklatch.effects AS e
        WHERE e.scope = asked.scope
            AND e.key = asked.key
            AND e.generation = asked.generation
        FOR UPDATE
    ) AS e
    LEFT JOIN hooklatch.destinations AS d ON d.name = e.destination
    CROSS JOIN LATERAL (
        SELECT (e.policy = 'at_most_once' OR asked.key_ttl_seconds > 0) AND {{of_before_restore}} AS unsure
    ) AS past
), judged AS (
    SELECT
        locked.*,
        CASE
            WHEN repeated THEN 'grant'
            WHEN NOT (due OR lost) THEN 'none'
            WHEN wants_turn THEN 'turn'
            WHEN lost AND NOT unsent AND policy = 'at_most_once' THEN 'park'
            WHEN withheld THEN 'withhold'
            WHEN unsure AND policy = 'at_most_once' THEN 'park'
            WHEN expired THEN 'park'
            WHEN paused THEN 'pause'
            ELSE 'grant'
        END AS verdict
    FROM locked
), granted AS (
    UPDATE hooklatch.effects AS e
    SET
        state = 'started',
        attempt = CASE WHEN judged.repeated THEN e.attempt ELSE e.attempt + 1 END,
        uncounted_attempts = e.uncounted_attempts + CASE WHEN judged.is_probe AND NOT judged.repeated AND NOT judged.own_fault THEN 1 ELSE 0 END,
        claim_id = judged.asked_by,
        lease_until = now() + make_interval(secs => judged.lease_seconds),
        first_attempt_at = COALESCE(e.first_attempt_at, now()),
        last_attempt_at = CASE WHEN judged.repeated THEN e.last_attempt_at ELSE now() END,
        claimed_at = CASE WHEN judged.repeated THEN e.claimed_at ELSE clock_timestamp() END,
        maybe_applied_since = CASE WHEN judged.lost AND NOT judged.unsent THEN COALESCE(e.maybe_applied_since, {{began}}) ELSE e.maybe_applied_since END,
        job_id = CASE WHEN judged.asked_job > 0 THEN judged.asked_job ELSE e.job_id END,
        request_method = CASE WHEN e.attempt = 0 AND e.request_method = '' THEN judged.first_method ELSE e.request_method END,
        request_url = CASE WHEN e.attempt = 0 AND e.request_url = '' THEN judged.first_url ELSE e.request_url END,
        request_headers = CASE WHEN e.attempt = 0 THEN judged.first_headers || e.request_headers ELSE e.request_headers END
    FROM judged
    WHERE {{same_effect locked=judged}}
        AND judged.verdict = 'grant'
    RETURNING
        e.*, judged.verdict, judged.lost, judged.own_fault,
        e.state AS now_state, e.lease_until AS now_lease_until, e.next_attempt_at AS now_next_attempt_at
), parked AS (
    UPDATE hooklatch.effects AS e
    SET
        state = 'parked',
        finished_at = now(),
        claim_id = NULL,
        lease_until = NULL,
        maybe_applied_since = CASE
            WHEN judged.lost AND NOT judged.unsent THEN COALESCE(e.maybe_applied_since, {{began}})
            WHEN judged.unsure THEN COALESCE(e.maybe_applied_since, (SELECT i.restored_to FROM hooklatch.installation AS i))
            ELSE e.maybe_applied_since
        END,
        error = CASE
            WHEN judged.lost AND NOT judged.unsent AND e.policy = 'at_most_once'
                THEN 'the worker was lost during attempt ' || e.attempt || ': it may have been applied'
            WHEN judged.unsure AND e.policy = 'at_most_once' THEN 'the database was restored to an earlier time: it may have been applied since'
            ELSE 'in doubt for longer than key_ttl: the receiver may have forgotten the key that keeps it from applying the effect twice'
        END
    FROM judged
    WHERE {{same_effect locked=judged}}
        AND judged.verdict = 'park'
    RETURNING
        e.*, judged.verdict, judged.lost, judged.own_fault,
        e.state AS now_state, e.lease_until AS now_lease_until, e.next_attempt_at AS now_next_attempt_at
), answered AS (
    SELECT * FROM granted
    UNION ALL
    SELECT * FROM parked
    UNION ALL
    SELECT e.*, judged.verdict, judged.lost, judged.own_fault, judged.now_state, judged.now_lease_until, judged.now_next_attempt_at
    FROM judged
    CROSS JOIN LATERAL (
        SELECT e.*
        FROM hooklatch.effects AS e
        WHERE e.scope = judged.scope
            AND e.key = judged.key
            AND e.generation = judged.generation
        OFFSET 0 -- prevents a join
    ) AS e
    WHERE judged.verdict NOT IN ('grant', 'park')
)
SELECT
    {{effect_columns e=a}},
    -- A body is read only for a granted claim. A large body is read outside the shared transaction.
    CASE WHEN a.verdict = 'grant' AND octet_length(a.request_body) <= 65536 THEN a.request_body END AS request_body,
    a.now_state AS state, a.now_lease_until AS lease_until, a.now_next_attempt_at AS next_attempt_at,
    a.claim_id, a.verdict, a.lost, a.own_fault, COALESCE(octet_length(a.request_body) > 65536, false) AS body_apart,
    -- Only the first attempt can be part of the trace of the event's delivery.
    CASE WHEN a.verdict = 'grant' AND a.attempt = 1 THEN (
        SELECT p.received_at
        FROM hooklatch.processed_events AS p
        WHERE p.source = a.source
            AND p.event_id = a.event_id
    ) END AS event_received_at
FROM answered AS a
