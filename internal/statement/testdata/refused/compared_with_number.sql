SELECT :wait_seconds > 0
