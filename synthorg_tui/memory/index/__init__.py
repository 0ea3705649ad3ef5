"""Vector indexes: embedded Qdrant Edge and a Qdrant server."""
