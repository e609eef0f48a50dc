DROP FUNCTION hooklatch.enqueue(text, text, jsonb, jsonb);
DROP FUNCTION hooklatch.enqueue_bytes(text, text, bytea, text, jsonb);
DROP FUNCTION hooklatch.effect_headers(jsonb);
DROP FUNCTION hooklatch.idempotency_key(text, text, integer);
