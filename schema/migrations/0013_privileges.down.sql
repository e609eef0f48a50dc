GRANT EXECUTE ON FUNCTION hooklatch.make_delivery_partitions(integer) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hooklatch.delivery_days_ahead() TO PUBLIC;
GRANT EXECUTE ON FUNCTION hooklatch.refuse_effect_transition() TO PUBLIC;
GRANT EXECUTE ON FUNCTION hooklatch.record_effect_transitions() TO PUBLIC;
GRANT EXECUTE ON FUNCTION hooklatch.idempotency_key(text, text, integer) TO PUBLIC;
GRANT EXECUTE ON FUNCTION hooklatch.effect_headers(jsonb) TO PUBLIC;
