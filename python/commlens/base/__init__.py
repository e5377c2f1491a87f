"""What everything else may use: errors, texts, JSON, secrets, the standard output."""
