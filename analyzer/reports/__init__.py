"""Reports on a store, as rows and as text: report, path, roles, live."""
