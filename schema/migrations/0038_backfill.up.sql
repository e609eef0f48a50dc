-- What providers list and their webhooks did not bring: how far a source is known to be
-- complete, what passes over a list found, and which redeliveries were asked for.
--
-- Locks: ACCESS EXCLUSIVE on processed_events and workers, for the moment it takes to
-- change their rows in the catalogue: the defaults of the new columns are constants.

ALTER TABLE hooklatch.processed_events
    ADD COLUMN origin  text NOT NULL DEFAULT 'webhook',
    ADD COLUMN altered text NOT NULL DEFAULT '';

COMMENT ON COLUMN hooklatch.processed_events.origin IS 'How the event came: webhook is proven by its signature, backfill was fetched from the API of the provider (I3).';
COMMENT ON COLUMN hooklatch.processed_events.altered IS 'In what the list differs from what the webhook would have said, such as redacted. Empty: in nothing that is known.';

ALTER TABLE hooklatch.workers ADD COLUMN accepts boolean NOT NULL DEFAULT false;

COMMENT ON COLUMN hooklatch.workers.accepts IS 'A gateway runs in the process. One that dispatches nothing is a gateway in any case.';

-- One row for each list: of a source, and of each account where its credential sees several.
CREATE TABLE hooklatch.coverage (
    source        text        NOT NULL,
    stream        text        NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL DEFAULT now(),
    covered_until timestamptz NOT NULL DEFAULT now(),
    deep_until    timestamptz NOT NULL DEFAULT now(),
    pass_until    timestamptz,
    page_token    text        NOT NULL DEFAULT '',
    lists_secs    float8      NOT NULL DEFAULT 0,
    mark          text        NOT NULL DEFAULT '',
    fence         bigint      NOT NULL DEFAULT 0,
    next_at       timestamptz NOT NULL DEFAULT now(),
    retry_after   timestamptz NOT NULL DEFAULT '-infinity',
    last_ok_at    timestamptz,
    failures      integer     NOT NULL DEFAULT 0,
    error         text        NOT NULL DEFAULT '',
    endpoint      text        NOT NULL DEFAULT '',
    endpoint_why  text        NOT NULL DEFAULT '',
    endpoint_at   timestamptz,
    PRIMARY KEY (source, stream)
) WITH (fillfactor = 50);

COMMENT ON TABLE hooklatch.coverage IS 'Up to when nothing that the list of a provider shows is missing.';
COMMENT ON COLUMN hooklatch.coverage.created_at IS 'When backfill was set up. What happened before is fetched by order of a person only.';
COMMENT ON COLUMN hooklatch.coverage.covered_until IS 'What happened before is stored, or was asked for and given up. Moved in the transaction that stores the events.';
COMMENT ON COLUMN hooklatch.coverage.deep_until IS 'End of the last pass over the whole window, which finds what the list showed late.';
COMMENT ON COLUMN hooklatch.coverage.pass_until IS 'End of the pass that was interrupted, which goes on at page_token. NULL: none was.';
COMMENT ON COLUMN hooklatch.coverage.mark IS 'Cursor of a feed, or the largest number of a list without times.';
COMMENT ON COLUMN hooklatch.coverage.lists_secs IS 'For how long the provider lists an event; 0: it does not say.';
COMMENT ON COLUMN hooklatch.coverage.fence IS 'Number of the pass: what an older one writes is refused.';
COMMENT ON COLUMN hooklatch.coverage.retry_after IS 'The provider asked not to be called before.';
COMMENT ON COLUMN hooklatch.coverage.endpoint IS 'State of our endpoint at the provider: on, off, foreign, or empty where it does not say.';
COMMENT ON COLUMN hooklatch.coverage.endpoint_at IS 'Since when we know it to be so.';

CREATE TABLE hooklatch.backfill_runs (
    run_id       bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source       text        NOT NULL,
    stream       text        NOT NULL DEFAULT '',
    since        timestamptz NOT NULL,
    until        timestamptz NOT NULL,
    mode         text        NOT NULL,
    requested_by text        NOT NULL DEFAULT '',
    started_at   timestamptz NOT NULL DEFAULT now(),
    ended_at     timestamptz,
    requests     bigint      NOT NULL DEFAULT 0,
    listed       bigint      NOT NULL DEFAULT 0,
    known        bigint      NOT NULL DEFAULT 0,
    missing      bigint      NOT NULL DEFAULT 0,
    recovered    bigint      NOT NULL DEFAULT 0,
    asked        bigint      NOT NULL DEFAULT 0,
    lost         bigint      NOT NULL DEFAULT 0,
    filtered     bigint      NOT NULL DEFAULT 0,
    invalid      bigint      NOT NULL DEFAULT 0,
    altered      bigint      NOT NULL DEFAULT 0,
    oldest       timestamptz,
    newest       timestamptz,
    error        text        NOT NULL DEFAULT ''
);

CREATE INDEX backfill_runs_source ON hooklatch.backfill_runs (source, started_at);
CREATE INDEX backfill_runs_started_at ON hooklatch.backfill_runs (started_at);

COMMENT ON TABLE hooklatch.backfill_runs IS 'What passes over the lists of providers found.';
COMMENT ON COLUMN hooklatch.backfill_runs.mode IS 'auto, report (which stores nothing) or ordered (by a person).';
COMMENT ON COLUMN hooklatch.backfill_runs.missing IS 'Listed, of a type that is wanted, and not stored when the pass looked.';
COMMENT ON COLUMN hooklatch.backfill_runs.recovered IS 'Stored by this pass, or brought by a redelivery that a pass had asked for.';
COMMENT ON COLUMN hooklatch.backfill_runs.lost IS 'Neither fetched nor redelivered after all tries.';
COMMENT ON COLUMN hooklatch.backfill_runs.oldest IS 'When the oldest of what was missing happened; newest likewise.';

-- Written down before they are asked for: one that was asked for and never came is asked
-- for again, a bounded number of times.
CREATE TABLE hooklatch.redeliveries (
    source      text        NOT NULL,
    event_id    text        NOT NULL,
    stream      text        NOT NULL DEFAULT '',
    ref         text        NOT NULL,
    happened_at timestamptz NOT NULL,
    asked_at    timestamptz,
    tries       integer     NOT NULL DEFAULT 0,
    ended_at    timestamptz,
    outcome     text        NOT NULL DEFAULT '',
    PRIMARY KEY (source, event_id)
);

CREATE INDEX redeliveries_waiting ON hooklatch.redeliveries (source, happened_at) WHERE ended_at IS NULL;
CREATE INDEX redeliveries_ended_at ON hooklatch.redeliveries (ended_at) WHERE ended_at IS NOT NULL;

COMMENT ON TABLE hooklatch.redeliveries IS 'Deliveries that a provider was asked to send once more.';
COMMENT ON COLUMN hooklatch.redeliveries.ref IS 'Name of the delivery at the provider.';
COMMENT ON COLUMN hooklatch.redeliveries.outcome IS 'arrived, fetched (from the list after all) or lost.';
