-- Keys of senders that a gateway has to ask for. One that has proven a delivery
-- is kept, so that it is known after a restart: what a source may ask about
-- unknown keys is limited, and strangers can use that up.
--
-- A new table: nothing else is locked.
CREATE TABLE hooklatch.sender_keys (
    source    text        NOT NULL,
    key_id    text        NOT NULL,
    document  bytea,
    proven_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source, key_id)
);

COMMENT ON TABLE hooklatch.sender_keys IS 'Public keys of senders that proved a delivery, a few for each source. Without a row the sender is asked again.';
COMMENT ON COLUMN hooklatch.sender_keys.key_id IS 'What the provider calls the key: where it comes from, and the id it has there.';
COMMENT ON COLUMN hooklatch.sender_keys.document IS 'The key as the sender gave it. NULL: the sender says that it has no such key any more.';
COMMENT ON COLUMN hooklatch.sender_keys.proven_at IS 'When it proved a delivery for the first time since the sender was asked for it last.';
