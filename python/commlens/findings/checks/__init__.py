"""The checks of doctor: every file in this folder is loaded."""
