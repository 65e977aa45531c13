"""Statistics: numpy and scipy only, pure functions; whoever draws at random hands in the generator."""
