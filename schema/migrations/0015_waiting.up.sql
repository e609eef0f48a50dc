-- What waits is found by a step into an index, not by a walk over all that waits.
-- Locks: SHARE on effects while the four indexes are built, which reads the table
-- once for each (about a second for a million rows): nothing is claimed or settled
-- meanwhile, and deliveries are accepted as always. ACCESS EXCLUSIVE comes last, for
-- the moment it takes to drop an index.

-- The effects of a destination in no order, the one that is due for longest first.
CREATE INDEX effects_due ON hooklatch.effects (destination, next_attempt_at)
    WHERE order_key = '' AND state IN ('pending', 'started', 'in_doubt');

-- The orders of a destination.
CREATE INDEX effects_orders ON hooklatch.effects (destination, scope, order_key)
    WHERE order_key <> '' AND state IN ('pending', 'started', 'in_doubt');

-- Of an order, what is at work. Statements sort it by the last column, as nothing else
-- is: whatever Postgres knows of the table, they do not walk what waits in the order.
CREATE INDEX effects_at_work ON hooklatch.effects (scope, order_key, created_at)
    WHERE order_key <> '' AND state = 'started';

-- The places of an order, from the first that others wait for. The index it
-- replaces had those of equal accept_seq in no order, and what nothing waits for.
CREATE INDEX effects_places ON hooklatch.effects (scope, order_key, accept_seq, key COLLATE "C", generation)
    WHERE order_key <> '' AND state IN ('pending', 'started', 'in_doubt', 'parked') AND (state <> 'parked' OR on_park = 'block');
DROP INDEX hooklatch.effects_order;
