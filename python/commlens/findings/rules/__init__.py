"""What decides the entries of knowledge/rules: a function each, in the module of the same name."""
