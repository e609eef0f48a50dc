-- Reads a slice of the events after a cursor, of all sources, in order of arrival. Deletes the
-- members' events that have expired and that no work needs.
WITH looked AS MATERIALIZED (
    {{events_behind}}
), {{judged_events}}
