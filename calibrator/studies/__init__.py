"""Studies of classifiers and judges beyond one aspect: types of texts, rankings of systems."""
