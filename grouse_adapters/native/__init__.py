"""Native metrics of the frameworks, next to what annotators say."""
