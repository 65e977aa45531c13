"""Is a judge reliable? What moves its scores that should not, each cause tried by itself and told in figures."""
