-- Stored events that the list of a provider does not contain: the token belongs to another account
-- than the webhook, or a third party knows the signing secret.
--
-- Locks: ACCESS EXCLUSIVE on backfill_runs, for the moment it takes to change its row in the
-- catalogue: the defaults of the new columns are constants.

ALTER TABLE hooklatch.backfill_runs
    ADD COLUMN unlisted       bigint NOT NULL DEFAULT 0,
    ADD COLUMN unlisted_event text   NOT NULL DEFAULT '';

COMMENT ON COLUMN hooklatch.backfill_runs.unlisted IS 'Events of webhooks that the list did not contain, among the events that the pass compared.';
COMMENT ON COLUMN hooklatch.backfill_runs.unlisted_event IS 'The id of one of them.';
