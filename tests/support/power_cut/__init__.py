"""A disk that forgets: records what a server writes and synchronizes, and takes back what a power cut would lose."""
