"""Meta-evaluation: unit tests that show whether a judge deserves trust."""
