-- Whether a run is to go on.
state IN ('running', 'working')
