"""Jobs: what they are, which launcher starts them, and what launchers write."""
