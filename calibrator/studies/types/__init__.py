"""Which types a text is of: multi-label classifiers, trained on one part and reported on another."""
