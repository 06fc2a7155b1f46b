"""Tags and filters of the project's own pages."""
