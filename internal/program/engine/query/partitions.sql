-- Creates partitions in the way in which Hooklatch creates the days of deliveries: it attaches
-- finished tables. The tables of an earlier, failed experiment are dropped first.
DROP TABLE IF EXISTS hooklatch.t_days, hooklatch.t_days_1, hooklatch.t_days_2;
CREATE TABLE hooklatch.t_days (at timestamptz NOT NULL, body bytea NOT NULL) PARTITION BY RANGE (at);
CREATE TABLE hooklatch.t_days_1 (LIKE hooklatch.t_days INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE);
CREATE TABLE hooklatch.t_days_2 (LIKE hooklatch.t_days INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE);
ALTER TABLE hooklatch.t_days ATTACH PARTITION hooklatch.t_days_1 FOR VALUES FROM ('2026-01-01 00:00Z') TO ('2026-01-02 00:00Z');
ALTER TABLE hooklatch.t_days ATTACH PARTITION hooklatch.t_days_2 FOR VALUES FROM ('2026-01-02 00:00Z') TO ('2026-01-03 00:00Z');
INSERT INTO hooklatch.t_days VALUES ('2026-01-01 23:59Z', '\x01'), ('2026-01-02 00:00Z', '\x02');
