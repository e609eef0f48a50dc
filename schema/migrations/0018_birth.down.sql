-- Locks: SHARE ROW EXCLUSIVE on effects, for the moment it takes to change the
-- catalogue.
CREATE OR REPLACE TRIGGER effects_begin
BEFORE INSERT ON hooklatch.effects
FOR EACH ROW
WHEN (NOT (NEW.state IN ('pending', 'parked') AND NEW.attempt = 0 AND NEW.claim_id IS NULL AND NEW.maybe_applied_since IS NULL))
EXECUTE FUNCTION hooklatch.refuse_effect_transition();
