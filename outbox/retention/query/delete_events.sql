-- A slice of the events behind a cursor, of all sources, in the order of arrival. Deletes
-- events of the members that have expired and that nothing needs.
WITH looked AS MATERIALIZED (
    {{events_behind}}
), {{judged_events}}
