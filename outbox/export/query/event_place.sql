{{event_place}}
