"""Classic and neural metrics of texts, each under the name and with the formula it was published with."""
