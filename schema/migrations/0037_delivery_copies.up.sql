-- A delivery of several events may repeat some beside new ones. It is stored whole, and
-- no row of an event leads to the parts that were known: an erasure has to find them.
--
-- Locks: nothing that is in use; a table and a function are made.

CREATE TABLE hooklatch.delivery_copies (
    source      text        NOT NULL,
    event_id    text        NOT NULL,
    delivery_id uuid        NOT NULL,
    item        text        NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source, event_id, delivery_id, item)
);

CREATE INDEX delivery_copies_received_at ON hooklatch.delivery_copies (received_at);

COMMENT ON TABLE hooklatch.delivery_copies IS 'Parts of stored deliveries that repeat an event which another delivery, or another part, had brought.';

CREATE FUNCTION hooklatch.copies_of_event(the_source text, the_event text) RETURNS TABLE (delivery_id uuid, received_at timestamptz, item text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT c.delivery_id, c.received_at, c.item
    FROM hooklatch.delivery_copies AS c
    WHERE c.source = the_source
        AND c.event_id = the_event
    ORDER BY c.delivery_id, c.item;
END
$$;

REVOKE ALL ON FUNCTION hooklatch.copies_of_event(text, text) FROM PUBLIC;
