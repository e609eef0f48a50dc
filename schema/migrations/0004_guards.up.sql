-- Guards of the inbox for senders whose ids cannot be relied on.

-- What proves one signed request, of sources whose scheme signs neither the id
-- nor the time: whoever captured a request could send it again under a fresh id.
CREATE TABLE hooklatch.replay_guards (
    source        text        NOT NULL,
    hash          bytea       NOT NULL,
    acceptance_id uuid        NOT NULL,
    seen_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source, hash)
);

COMMENT ON TABLE hooklatch.replay_guards IS 'SHA-256 of the proof of each delivery that brought something new, for sources with a replay guard.';
COMMENT ON COLUMN hooklatch.replay_guards.acceptance_id IS 'Of the delivery that came with it first, so that a retry of ours recognises its own row.';

CREATE INDEX replay_guards_seen_at ON hooklatch.replay_guards (seen_at);

-- The content of the last event, of sources with `dedup: content`.
CREATE TABLE hooklatch.content_guards (
    source        text        NOT NULL,
    hash          bytea       NOT NULL,
    event_id      text        NOT NULL,
    acceptance_id uuid        NOT NULL,
    accepted_at   timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    PRIMARY KEY (source, hash)
);

COMMENT ON COLUMN hooklatch.content_guards.expires_at IS 'End of the window in which the same content is the same event.';

CREATE INDEX content_guards_expires_at ON hooklatch.content_guards (expires_at);

ALTER TABLE hooklatch.processed_events
    ADD COLUMN replay_suspect boolean NOT NULL DEFAULT false,
    ADD COLUMN retry_number integer NOT NULL DEFAULT 0,
    ADD COLUMN retry_reason text NOT NULL DEFAULT '';

COMMENT ON COLUMN hooklatch.processed_events.replay_suspect IS 'The proof of its delivery had come before, under another id.';
COMMENT ON COLUMN hooklatch.processed_events.retry_number IS 'Which retry of the provider brought the event; 0 when it does not say, or for the first try.';
