CREATE INDEX effects_order ON hooklatch.effects (scope, order_key, accept_seq)
    WHERE order_key <> '' AND state IN ('pending', 'started', 'in_doubt', 'parked');
DROP INDEX hooklatch.effects_places;
DROP INDEX hooklatch.effects_at_work;
DROP INDEX hooklatch.effects_orders;
DROP INDEX hooklatch.effects_due;
