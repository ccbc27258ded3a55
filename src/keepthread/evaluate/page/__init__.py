"""The page that shows a project's sessions and what their compactions cost: data in `collect`, markup in `page`."""
