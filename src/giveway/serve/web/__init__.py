"""Study server: routes, templates, static files."""
