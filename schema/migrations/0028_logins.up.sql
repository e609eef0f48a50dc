-- Who is signed in at the console.
--
-- Locks: none, the table is new.

CREATE TABLE hooklatch.console_logins (
    hash         bytea       NOT NULL PRIMARY KEY,
    name         text        NOT NULL,
    role         text        NOT NULL,
    way          text        NOT NULL,
    token        text        NOT NULL DEFAULT '',
    basis        bytea       NOT NULL,
    signed_in_at timestamptz NOT NULL DEFAULT now(),
    seen_at      timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX console_logins_person ON hooklatch.console_logins (name);
CREATE INDEX console_logins_seen ON hooklatch.console_logins (seen_at);

COMMENT ON TABLE hooklatch.console_logins IS 'Who is signed in at the console, in which browser.';
COMMENT ON COLUMN hooklatch.console_logins.hash IS 'SHA-256 of the cookie, which is kept nowhere but in the browser.';
COMMENT ON COLUMN hooklatch.console_logins.role IS 'What the person could do when signing in. Of a token it is the one of the configuration that counts.';
COMMENT ON COLUMN hooklatch.console_logins.way IS 'How the person signed in: token or oidc.';
COMMENT ON COLUMN hooklatch.console_logins.token IS 'Name of the token in the configuration. Empty for admin.token, and where there was none.';
COMMENT ON COLUMN hooklatch.console_logins.basis IS 'HMAC, under the cookie, of what the login relies on: the secret of the token, or the settings of the provider. It is over when that has changed.';
COMMENT ON COLUMN hooklatch.console_logins.seen_at IS 'When it was last used, to the minute.';
