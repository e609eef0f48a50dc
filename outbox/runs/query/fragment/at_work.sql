-- True if a run is running.
state IN ('running', 'working')
