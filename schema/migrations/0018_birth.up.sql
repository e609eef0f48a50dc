-- An effect may begin with its first attempt, when the process that dispatches its event
-- can make it at once: only where a lost attempt is tried again, with a request that is
-- fixed, and outside of any order.
--
-- Locks: SHARE ROW EXCLUSIVE on effects, for the moment it takes to change the
-- catalogue. No row is read or written.
CREATE OR REPLACE TRIGGER effects_begin
BEFORE INSERT ON hooklatch.effects
FOR EACH ROW
WHEN (NOT (
    NEW.maybe_applied_since IS NULL
    AND CASE NEW.state
        WHEN 'started' THEN
            NEW.attempt = 1
            AND NEW.claim_id IS NOT NULL
            AND NEW.lease_until IS NOT NULL
            AND NEW.last_attempt_at IS NOT NULL
            AND NEW.policy = 'at_least_once'
            AND NEW.request_rendering = 'done'
            AND NEW.order_key = ''
        ELSE NEW.state IN ('pending', 'parked') AND NEW.attempt = 0 AND NEW.claim_id IS NULL
    END
))
EXECUTE FUNCTION hooklatch.refuse_effect_transition();
