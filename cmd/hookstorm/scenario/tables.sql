CREATE SCHEMA IF NOT EXISTS torture;

CREATE TABLE IF NOT EXISTS torture.books (
    event_id text        NOT NULL,
    account  text        NOT NULL,
    at       timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE IF NOT EXISTS torture.handled (
    source     text        NOT NULL,
    event_id   text        NOT NULL,
    generation integer     NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE IF NOT EXISTS torture.orders_of_application (
    key text        NOT NULL,
    at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
