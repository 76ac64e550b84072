"""What a store says, as rows and as text: report, path, roles, live."""
