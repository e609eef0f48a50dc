DROP FUNCTION hooklatch.delivery_days_ahead();
DROP FUNCTION hooklatch.make_delivery_partitions(integer);
DROP TABLE hooklatch.deliveries;
DROP TABLE hooklatch.event_replays;
DROP TABLE hooklatch.processed_events;
DROP SEQUENCE hooklatch.accept_seq;
