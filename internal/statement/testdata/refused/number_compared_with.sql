SELECT 0.5 <= :wait_seconds
