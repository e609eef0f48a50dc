-- What came again, and what was refused.
--
-- Locks: ACCESS EXCLUSIVE on processed_events, for the moment it takes to change
-- the catalogue: the column has no default, and no row is read or written. The
-- tables are new.
ALTER TABLE hooklatch.processed_events ADD COLUMN duplicate_times timestamptz[];

COMMENT ON COLUMN hooklatch.processed_events.duplicate_times IS 'When the last 16 duplicates came, in order. NULL without any.';

CREATE TABLE hooklatch.retry_statistics (
    source       text        NOT NULL,
    reason       text        NOT NULL,
    retry_number integer     NOT NULL,
    deliveries   bigint      NOT NULL,
    first_at     timestamptz NOT NULL DEFAULT now(),
    last_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source, reason, retry_number)
);

COMMENT ON TABLE hooklatch.retry_statistics IS 'How many deliveries of a source its sender called a retry, by its reason and number. For people: most senders do not sign them.';
COMMENT ON COLUMN hooklatch.retry_statistics.reason IS 'A word of the sender''s, such as http_timeout; empty without one, and "other" for what is no such word, and for those beyond the first 16 of a source.';

-- Requests that were refused, with what it takes to verify them again. Never
-- processed as they are.
CREATE TABLE hooklatch.rejected_deliveries (
    rejection_id uuid        NOT NULL PRIMARY KEY,
    source       text        NOT NULL,
    rejected_at  timestamptz NOT NULL,
    reason       text        NOT NULL,
    detail       text        NOT NULL DEFAULT '',
    address      cidr,
    known        boolean     NOT NULL,
    method       text        NOT NULL,
    host         text        NOT NULL,
    secure       boolean     NOT NULL,
    target       text        NOT NULL,
    headers      jsonb       NOT NULL,
    secrets      jsonb       NOT NULL DEFAULT '{}',
    body         bytea       NOT NULL,
    body_hash    bytea       NOT NULL GENERATED ALWAYS AS (sha256(body)) STORED,
    bytes        integer     NOT NULL
);

COMMENT ON TABLE hooklatch.rejected_deliveries IS 'The quarantine: requests that were refused, at most 1,000, 64 MiB and 7 days of each source, to be verified again.';
COMMENT ON COLUMN hooklatch.rejected_deliveries.rejected_at IS 'When it arrived, by the clock of the database. Signed times are compared with it.';
COMMENT ON COLUMN hooklatch.rejected_deliveries.address IS 'An IPv4 address, or the /64 of an IPv6 one. NULL: unknown.';
COMMENT ON COLUMN hooklatch.rejected_deliveries.known IS 'A delivery from that address had been accepted in the 30 days before. Half of the caps is for these.';
COMMENT ON COLUMN hooklatch.rejected_deliveries.target IS 'Path and, where the sender signs it, query of the request.';
COMMENT ON COLUMN hooklatch.rejected_deliveries.secrets IS 'Of headers and parameters that carry a secret itself: an HMAC of each value, under the key in quarantine_key.';
COMMENT ON COLUMN hooklatch.rejected_deliveries.body_hash IS 'By this a copy of a body that is erased is found.';
COMMENT ON COLUMN hooklatch.rejected_deliveries.bytes IS 'What it counts for in the caps.';

CREATE INDEX rejected_deliveries_source ON hooklatch.rejected_deliveries (source, rejected_at);

-- Where deliveries were accepted from lately.
CREATE TABLE hooklatch.known_addresses (
    source      text        NOT NULL,
    address     cidr        NOT NULL,
    accepted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source, address)
);

COMMENT ON TABLE hooklatch.known_addresses IS 'Addresses (IPv4, or the /64 of an IPv6 one) that an accepted delivery of the source came from in the last 30 days, at most 4,096 of each source.';

-- gen_random_uuid is random enough for a key: 122 bits each time.
CREATE TABLE hooklatch.quarantine_key (
    only_one boolean NOT NULL DEFAULT true PRIMARY KEY,
    hmac_key bytea   NOT NULL,
    CONSTRAINT only_one CHECK (only_one)
);

INSERT INTO hooklatch.quarantine_key (hmac_key)
SELECT sha256(convert_to(concat(gen_random_uuid(), gen_random_uuid(), gen_random_uuid()), 'UTF8'));

COMMENT ON TABLE hooklatch.quarantine_key IS 'The key of this installation under which secrets that refused requests carried are kept as HMACs. Nobody has to read it but gateways and who retries.';
