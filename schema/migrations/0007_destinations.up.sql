-- Pauses, circuit breakers and rates of destinations: one truth for the fleet.

ALTER TABLE hooklatch.destinations
    ADD COLUMN operator_paused boolean NOT NULL DEFAULT false,
    ADD COLUMN paused_by text NOT NULL DEFAULT '',
    ADD COLUMN pause_reason text NOT NULL DEFAULT '',
    ADD COLUMN paused_at timestamptz,
    ADD COLUMN breaker_state text NOT NULL DEFAULT 'closed',
    ADD COLUMN breaker_reason text NOT NULL DEFAULT '',
    ADD COLUMN opened_at timestamptz,
    ADD COLUMN probe_at timestamptz,
    ADD COLUMN epoch bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT known_breaker_state CHECK (breaker_state IN ('closed', 'open', 'half_open')),
    ADD CONSTRAINT open_breaker_probes CHECK (breaker_state = 'closed' OR (opened_at IS NOT NULL AND probe_at IS NOT NULL));

COMMENT ON COLUMN hooklatch.destinations.operator_paused IS 'A person paused it. The destination is paused when this is true or its breaker is not closed.';
COMMENT ON COLUMN hooklatch.destinations.probe_at IS 'When an open breaker lets a probe through, or a half-open one gives up the probe that was let through.';
COMMENT ON COLUMN hooklatch.destinations.epoch IS 'Counts the changes of pause and breaker.';

-- Rates hold for the fleet, by the database's clock. Losing them with a crash
-- of the server costs one burst, so they need no WAL.
CREATE UNLOGGED TABLE hooklatch.destination_rates (
    name text        NOT NULL PRIMARY KEY,
    tat  timestamptz NOT NULL
) WITH (fillfactor = 50);

COMMENT ON COLUMN hooklatch.destination_rates.tat IS 'Theoretical arrival time of the generic cell rate algorithm (ITU-T I.371): when all tokens taken so far are paid for.';
