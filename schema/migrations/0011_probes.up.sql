-- The budget of attempts: what a probe of an open breaker costs, and whose fault
-- a refusal is. New columns without a rewrite: each ALTER holds ACCESS EXCLUSIVE
-- on its table for the catalogue only.

ALTER TABLE hooklatch.effects
    ADD COLUMN uncounted_attempts integer NOT NULL DEFAULT 0,
    ADD COLUMN refused_since timestamptz;

COMMENT ON COLUMN hooklatch.effects.uncounted_attempts IS 'How many of its attempts were probes that cost none of max_attempts.';
COMMENT ON COLUMN hooklatch.effects.refused_since IS 'Start of the first of its latest attempts that were all answered 401, 403 or 407. NULL when the last was not.';

ALTER TABLE hooklatch.destinations ADD COLUMN succeeded_at timestamptz;

COMMENT ON COLUMN hooklatch.destinations.succeeded_at IS 'Start of the last attempt that was applied, as far as known when the breaker opened or closed.';
