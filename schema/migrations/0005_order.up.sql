-- Order, latest-by, rotated keys and requests that are rendered late.

ALTER TABLE hooklatch.effects
    ADD COLUMN order_key text NOT NULL DEFAULT '',
    ADD COLUMN on_park text NOT NULL DEFAULT 'block',
    ADD COLUMN latest_key text NOT NULL DEFAULT '',
    ADD COLUMN occurred_at timestamptz,
    ADD COLUMN superseded_by text NOT NULL DEFAULT '',
    ADD COLUMN key_rotations integer NOT NULL DEFAULT 0,
    ADD COLUMN request_rendering text NOT NULL DEFAULT 'done',
    ADD COLUMN reopened_at timestamptz,
    ADD CONSTRAINT known_on_park CHECK (on_park IN ('block', 'skip')),
    ADD CONSTRAINT known_rendering CHECK (request_rendering IN ('done', 'late', 'failed')),
    ADD CONSTRAINT ordered_by_something CHECK (order_key = '' OR accept_seq IS NOT NULL),
    ADD CONSTRAINT latest_is_ordered CHECK (latest_key = '' OR (order_key <> '' AND occurred_at IS NOT NULL)),
    ADD CONSTRAINT pending_has_no_doubt CHECK (state <> 'pending' OR maybe_applied_since IS NULL);

COMMENT ON COLUMN hooklatch.effects.order_key IS 'Effects of one (scope, order_key) run one after another in the order of accept_seq, key, generation. Empty: in no order.';
COMMENT ON COLUMN hooklatch.effects.on_park IS 'Whether a parked effect blocks those after it in its order.';
COMMENT ON COLUMN hooklatch.effects.latest_key IS 'The object that latest_by names, or empty: the effect is cancelled when a newer one of the object was applied.';
COMMENT ON COLUMN hooklatch.effects.superseded_by IS 'Idempotency key of the newer effect of the same object that was applied instead.';
COMMENT ON COLUMN hooklatch.effects.key_rotations IS 'How often the key on the wire was replaced, because the receiver replayed a stored error for the one before.';
COMMENT ON COLUMN hooklatch.effects.request_rendering IS 'late: the request is fixed by the first attempt, before it calls anybody. failed: it could not be rendered; only a replay of the event can.';
COMMENT ON COLUMN hooklatch.effects.reopened_at IS 'When a person last ordered another attempt. The lifetime of a key that is in doubt counts from here.';

CREATE INDEX effects_order ON hooklatch.effects (scope, order_key, accept_seq)
    WHERE order_key <> '' AND state IN ('pending', 'started', 'in_doubt', 'parked');

-- An ordered effect asks for earlier undispatched events of its source at each
-- claim. The index it replaces answered only how old the oldest one is.
CREATE INDEX processed_events_undispatched_of ON hooklatch.processed_events (source, accept_seq) INCLUDE (received_at)
    WHERE outcome = 'received';
DROP INDEX hooklatch.processed_events_undispatched;

-- The newest effect applied to each object that latest_by names.
CREATE TABLE hooklatch.object_versions (
    scope           text        NOT NULL,
    latest_key      text        NOT NULL,
    occurred_at     timestamptz NOT NULL,
    accept_seq      bigint      NOT NULL,
    idempotency_key text        NOT NULL,
    applied_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (scope, latest_key)
);

COMMENT ON TABLE hooklatch.object_versions IS 'What is older than this, by the provider''s clock and then by arrival, is superseded.';

ALTER TABLE hooklatch.effect_attempts
    ADD COLUMN claim_id uuid,
    ADD COLUMN key_rotation integer NOT NULL DEFAULT 0;

COMMENT ON COLUMN hooklatch.effect_attempts.claim_id IS 'Of the run that made the attempt, so that a retry after a lost COMMIT answer recognises its own.';
COMMENT ON COLUMN hooklatch.effect_attempts.key_rotation IS 'Which key the attempt carried: 0 is the effect''s own.';
