-- Whether a run is running.
state IN ('running', 'working')
