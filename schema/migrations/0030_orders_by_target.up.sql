-- What was ordered about one event, effect or destination is found without reading all
-- that was ever ordered.
--
-- Locks: SHARE on operator_log while the index is built, about two seconds for a million
-- orders: orders of people wait meanwhile, and nothing else does.
CREATE INDEX operator_log_target ON hooklatch.operator_log (target, at, id);
