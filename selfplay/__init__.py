"""Games at scale: workers, records, replay, gauntlet and ratings, and the loop that learns."""
