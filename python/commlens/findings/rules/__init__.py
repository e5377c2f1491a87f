"""The rules, a file a subject. A rule is one function with `@rule(...)` above it."""
