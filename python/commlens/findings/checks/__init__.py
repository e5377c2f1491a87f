"""What decides the entries of knowledge/checks: conditions, or functions of modules named alike."""
