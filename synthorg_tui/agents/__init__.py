"""Connected agents: their sessions, tools and rights, and the record of their calls."""
