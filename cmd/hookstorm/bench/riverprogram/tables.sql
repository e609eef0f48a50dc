CREATE TABLE IF NOT EXISTS processed (
    source      text        NOT NULL,
    event_id    text        NOT NULL,
    event_type  text        NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    payload     bytea       NOT NULL,
    PRIMARY KEY (source, event_id)
)
