"""From a request to a plan under review, or to a direct run."""
