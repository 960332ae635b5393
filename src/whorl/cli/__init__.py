"""The ``whorl`` command: one file per verb, loaded when the verb is used."""
