"""What `import commlens` offers; the command line is made of the same calls."""
