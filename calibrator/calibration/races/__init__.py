"""Racing: the best of many candidates found without scoring every one of them on the whole development set."""
