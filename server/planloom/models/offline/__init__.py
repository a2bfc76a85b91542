"""Models without a network: scripted answers, recordings and their replay."""
