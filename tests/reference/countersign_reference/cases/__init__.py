"""The cases, by subject. Each module's `cases()` yields vectors in order."""
