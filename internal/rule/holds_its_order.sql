-- True if the effect e keeps later effects in its order waiting.
e.state IN ('pending', 'started', 'in_doubt', 'parked')
    AND (e.state <> 'parked' OR e.on_park = 'block')
