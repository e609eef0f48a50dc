-- Postgres lets everybody execute a function who may use its schema, and an
-- application needs that for enqueue. It needs none of these, and a role that
-- has nothing but USAGE could make partitions of deliveries with them. Triggers
-- fire without the right.
--
-- A change of the functions' rows in the catalog: no table is locked.
REVOKE ALL ON FUNCTION hooklatch.make_delivery_partitions(integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.delivery_days_ahead() FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.refuse_effect_transition() FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.record_effect_transitions() FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.idempotency_key(text, text, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION hooklatch.effect_headers(jsonb) FROM PUBLIC;
