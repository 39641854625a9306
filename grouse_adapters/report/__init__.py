"""What a run amounts to, for programs (``report.json``) and for people (tables)."""
