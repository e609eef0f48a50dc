-- The ledger: what has to be done because of an event, or because the
-- application enqueued it, and what came of every attempt.

-- Where effects go. Workers register what their configuration names, so that
-- whoever enqueues is told about a destination nobody serves.
CREATE TABLE hooklatch.destinations (
    name          text        NOT NULL PRIMARY KEY,
    kind          text        NOT NULL,
    queue         text        NOT NULL,
    policy        text        NOT NULL DEFAULT 'at_least_once',
    config_hash   text        NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT known_policy CHECK (policy IN ('at_least_once', 'at_most_once'))
);

CREATE TABLE hooklatch.effects (
    scope               text        NOT NULL,
    key                 text        NOT NULL,
    generation          integer     NOT NULL DEFAULT 1,
    idempotency_key     text        NOT NULL UNIQUE,
    route               text        NOT NULL DEFAULT '',
    destination         text        NOT NULL,
    queue               text        NOT NULL,
    policy              text        NOT NULL,
    source              text        NOT NULL DEFAULT '',
    event_id            text        NOT NULL DEFAULT '',
    event_type          text        NOT NULL DEFAULT '',
    accept_seq          bigint,
    traceparent         text        NOT NULL DEFAULT '',
    request_method      text        NOT NULL DEFAULT '',
    request_url         text        NOT NULL DEFAULT '',
    request_headers     jsonb       NOT NULL DEFAULT '{}',
    request_type        text        NOT NULL DEFAULT '',
    request_body        bytea,
    state               text        NOT NULL DEFAULT 'pending',
    attempt             integer     NOT NULL DEFAULT 0,
    claim_id            uuid,
    lease_until         timestamptz,
    next_attempt_at     timestamptz NOT NULL DEFAULT now(),
    created_at          timestamptz NOT NULL DEFAULT now(),
    first_attempt_at    timestamptz,
    last_attempt_at     timestamptz,
    maybe_applied_since timestamptz,
    finished_at         timestamptz,
    response_status     integer,
    response_excerpt    text        NOT NULL DEFAULT '',
    error               text        NOT NULL DEFAULT '',
    job_id              bigint,
    PRIMARY KEY (scope, key, generation),
    CONSTRAINT key_length CHECK (octet_length(key) BETWEEN 1 AND 255),
    CONSTRAINT known_policy CHECK (policy IN ('at_least_once', 'at_most_once')),
    CONSTRAINT known_state CHECK (state IN ('pending', 'started', 'done', 'failed', 'in_doubt', 'parked', 'cancelled')),
    CONSTRAINT claimed_when_started CHECK (state <> 'started' OR (claim_id IS NOT NULL AND lease_until IS NOT NULL AND attempt > 0)),
    CONSTRAINT doubt_has_a_beginning CHECK (state <> 'in_doubt' OR maybe_applied_since IS NOT NULL)
) WITH (fillfactor = 80);

COMMENT ON TABLE hooklatch.effects IS 'One row for each effect: (scope, key, generation) has at most one (I4).';
COMMENT ON COLUMN hooklatch.effects.request_body IS 'Committed no later than the first claim, so that every attempt sends the same bytes (I7). NULL: the body of the event''s delivery, as it came.';
COMMENT ON COLUMN hooklatch.effects.request_url IS 'Empty until the first claim when the destination decides it.';
COMMENT ON COLUMN hooklatch.effects.maybe_applied_since IS 'Start of the first attempt that may have been applied. Never cleared by a later failure.';

CREATE INDEX effects_unfinished ON hooklatch.effects (next_attempt_at) WHERE state IN ('pending', 'started', 'in_doubt');
CREATE INDEX effects_created_at ON hooklatch.effects (created_at);

-- Which events led to an effect, also those whose effect was there already.
CREATE TABLE hooklatch.effect_events (
    source     text        NOT NULL,
    event_id   text        NOT NULL,
    scope      text        NOT NULL,
    key        text        NOT NULL,
    generation integer     NOT NULL,
    suppressed boolean     NOT NULL,
    linked_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source, event_id, scope, key, generation)
);

COMMENT ON COLUMN hooklatch.effect_events.suppressed IS 'True when an earlier event had made the effect of this key.';

-- One row for each attempt that ended, or was found to have ended in doubt.
CREATE TABLE hooklatch.effect_attempts (
    scope            text        NOT NULL,
    key              text        NOT NULL,
    generation       integer     NOT NULL,
    attempt          integer     NOT NULL,
    started_at       timestamptz NOT NULL,
    finished_at      timestamptz NOT NULL,
    lost             boolean     NOT NULL DEFAULT false,
    state            text        NOT NULL,
    applied          text        NOT NULL,
    response_status  integer,
    response_excerpt text        NOT NULL DEFAULT '',
    error            text        NOT NULL DEFAULT '',
    job_id           bigint,
    PRIMARY KEY (scope, key, generation, attempt),
    CONSTRAINT known_applied CHECK (applied IN ('yes', 'no', 'unknown'))
);

COMMENT ON COLUMN hooklatch.effect_attempts.lost IS 'True when nobody settled the attempt: a later claim found its lease at an end.';
COMMENT ON COLUMN hooklatch.effect_attempts.state IS 'The state this attempt left its effect in.';
