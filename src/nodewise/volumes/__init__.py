"""Rules about volumes and claims that several plugins share."""
