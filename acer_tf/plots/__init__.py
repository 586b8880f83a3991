"""Learning curves and interval estimates of finished runs."""
